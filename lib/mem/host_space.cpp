#include "mem/host_space.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <verbena/error.hpp>

namespace verbena::mem {
namespace {

[[noreturn]] void throw_exhausted(std::size_t bytes) {
    rlimit limit{};
    getrlimit(RLIMIT_AS, &limit);
    const std::string seen = limit.rlim_cur == RLIM_INFINITY ? "no address space limit is set"
                                                             : fmt::format("RLIMIT_AS is {}", limit.rlim_cur);
    throw Error(ErrorCode::exhausted, fmt::format("allocating {} bytes of host memory failed; {}", bytes, seen),
                "ask for less, or see free -h, ulimit -v and the memory limit of the control group",
                {Origin::system_errno, ENOMEM, 0});
}

} // namespace

std::byte* HostSpace::allocate(std::size_t bytes, int) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    if (bytes > std::numeric_limits<std::size_t>::max() - page) throw_exhausted(bytes);
    const std::size_t whole_pages = bytes == 0 ? page : (bytes + page - 1) / page * page;
    void* memory = std::aligned_alloc(page, whole_pages);
    if (memory == nullptr) throw_exhausted(bytes);
    return static_cast<std::byte*>(memory);
}

void HostSpace::release(std::byte* memory) noexcept { std::free(memory); }

void HostSpace::copy(std::byte* destination, const std::byte* source, std::size_t bytes) {
    if (bytes != 0) std::memmove(destination, source, bytes);
}

void HostSpace::reduce(DataType, ReduceOp, std::byte*, std::span<const std::byte* const>, std::size_t) {
    throw Error(ErrorCode::internal, "host memory was handed to a space to reduce: the core reduces it itself");
}
void HostSpace::divide(DataType, std::byte*, std::size_t, std::uint32_t) {
    throw Error(ErrorCode::internal, "host memory was handed to a space to divide: the core divides it itself");
}

} // namespace verbena::mem
