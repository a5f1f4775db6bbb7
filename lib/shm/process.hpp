/// @file
/// The process at the other end: whether it lives, and its memory (cross-memory attach, process_vm_readv(2)).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <sys/types.h>
#include <sys/uio.h>

namespace verbena::shm {

/// A process id alone may be given to another process one day; with the time it started it is that process only.
struct ProcessId {
    std::int32_t pid = 0;
    std::uint32_t reserved = 0;
    std::uint64_t start_time = 0; ///< clock ticks since boot (proc(5), stat, field 22)

    friend bool operator==(const ProcessId&, const ProcessId&) = default;
};

/// This process. @throws Error (unavailable) when /proc is not there.
[[nodiscard]] ProcessId own_process();

/// False for a zombie too: it has ended. Some microseconds: not on the hot path.
[[nodiscard]] bool is_alive(const ProcessId& process) noexcept;

/// How a transfer to or from another process's memory ended: 0, or a positive errno.
/// ESRCH: it is gone. EPERM: we may not. EFAULT: nothing is mapped there, at either end.
[[nodiscard]] int read_memory(pid_t pid, std::span<const iovec> local, std::uint64_t remote,
                              std::size_t length) noexcept;
[[nodiscard]] int write_memory(pid_t pid, std::span<const iovec> local, std::uint64_t remote,
                               std::size_t length) noexcept;

} // namespace verbena::shm
