#include "verbs/memory_region.hpp"

#include <cerrno>
#include <fstream>
#include <system_error>

#include <unistd.h>

#include <fmt/format.h>

#include "verbs/device.hpp"
#include "verbs/errors.hpp"
#include "verbs/io_mapping.hpp"
#include "verbs/translate.hpp"

namespace verbena::verbs {
namespace {

/// The kernel pins and counts whole pages.
std::uint64_t pinned_bytes(std::span<const std::byte> bytes) {
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    const auto first = reinterpret_cast<std::uintptr_t>(bytes.data()) / page;
    const auto last = (reinterpret_cast<std::uintptr_t>(bytes.data()) + bytes.size() - 1) / page;
    return (last - first + 1) * page;
}

} // namespace

MemoryRegion::MemoryRegion(Device& device, std::span<std::byte> bytes, Access access) : bytes_(bytes) {
    if (bytes.empty()) throw Error(ErrorCode::invalid_argument, "a memory region of 0 bytes cannot be registered");
    errno = 0;
    region_.reset(ibv_reg_mr(&device.protection_domain(), bytes.data(), bytes.size(), access_flags_of(access)));
    if (region_ != nullptr) return;
    const int code = errno;
    const std::string what =
        fmt::format("ibv_reg_mr of {} bytes at {} on {}", bytes.size(), fmt::ptr(bytes.data()), device.describe());
    std::ifstream smaps("/proc/self/smaps");
    if (const auto mapped = io_mapping(smaps, reinterpret_cast<std::uintptr_t>(bytes.data()))) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{}: {}; it is an I/O mapping of {}, which cannot be pinned", what,
                                std::generic_category().message(code), *mapped),
                    "pass the device pointer, not the CPU's mapping of that memory", errno_cause(code));
    }
    throw errno_error(code, what, pinned_bytes(bytes));
}

} // namespace verbena::verbs
