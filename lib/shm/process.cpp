#include "shm/process.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>
#include <verbena/error.hpp>

namespace verbena::shm {
namespace {

struct Stat {
    char state = 'X';
    std::uint64_t start_time = 0;
};

/// Field 2 is the command in parentheses and may hold anything, so what follows is counted from the last one.
Stat read_stat(pid_t pid) noexcept {
    std::array<char, 64> path{};
    std::snprintf(path.data(), path.size(), "/proc/%d/stat", pid);
    const int fd = ::open(path.data(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return {};
    std::array<char, 1024> text{};
    const ssize_t length = ::read(fd, text.data(), text.size() - 1);
    ::close(fd);
    if (length <= 0) return {};
    const std::string_view all(text.data(), static_cast<std::size_t>(length));
    std::size_t at = all.rfind(')');
    if (at == std::string_view::npos || at + 2 >= all.size()) return {};
    const char state = all[at + 2]; // field 3
    for (int field = 2; field < 22 && at != std::string_view::npos; ++field) at = all.find(' ', at + 1);
    if (at == std::string_view::npos) return {};
    return {state, std::strtoull(text.data() + at, nullptr, 10)};
}

template <class Call>
int transfer(Call call, pid_t pid, std::span<const iovec> local, std::uint64_t remote, std::size_t length) noexcept {
    const iovec there{reinterpret_cast<void*>(remote), length};
    const ssize_t moved = call(pid, local.data(), local.size(), &there, 1ul, 0ul);
    if (moved < 0) return errno;
    // Less than asked for: it met memory that is not mapped on the way.
    return static_cast<std::size_t>(moved) == length ? 0 : EFAULT;
}

} // namespace

ProcessId own_process() {
    const pid_t pid = ::getpid();
    const Stat stat = read_stat(pid);
    if (stat.start_time == 0) {
        throw Error(ErrorCode::unavailable, fmt::format("/proc/{}/stat tells no start time", pid),
                    "mount proc on /proc; wire=ofi does without");
    }
    return {pid, 0, stat.start_time};
}

bool is_alive(const ProcessId& process) noexcept {
    const Stat stat = read_stat(process.pid);
    return stat.start_time == process.start_time && stat.state != 'Z' && stat.state != 'X';
}

int read_memory(pid_t pid, std::span<const iovec> local, std::uint64_t remote, std::size_t length) noexcept {
    return transfer(::process_vm_readv, pid, local, remote, length);
}

int write_memory(pid_t pid, std::span<const iovec> local, std::uint64_t remote, std::size_t length) noexcept {
    return transfer(::process_vm_writev, pid, local, remote, length);
}

} // namespace verbena::shm
