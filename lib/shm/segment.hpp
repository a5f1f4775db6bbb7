/// @file
/// Memory that another process can map: a memfd, reached through /proc/PID/fd/N.
///
/// Not a file of /dev/shm: a memfd has no name that a killed process could leave behind, whenever it is killed; it does
/// not count against the size of /dev/shm (64 MiB in many containers); the kernel lets only those open it who may trace
/// the process (same user, dumpable); and it can be sealed. The seals are what makes sharing with a stranger's process
/// safe: a file that can shrink would let the peer end us by SIGBUS.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <sys/types.h>

namespace verbena::shm {

/// A mapping, and the descriptor behind it where this process made it. Move-only.
class Segment {
  public:
    /// What peers may do with it.
    enum class Sharing : bool { read_only, read_write };

    Segment() noexcept = default;
    /// `size` bytes, zeroed, every page there already: a full machine is an Error now, not a SIGBUS later.
    /// @throws Error naming the size and the step that failed.
    Segment(const char* name, std::size_t size, Sharing sharing);
    /// Maps what process `pid` made as its descriptor `fd`. @throws Error when it is not such a segment of that size.
    Segment(pid_t pid, int fd, std::size_t size, Sharing sharing);
    Segment(Segment&& other) noexcept;
    Segment& operator=(Segment&& other) noexcept;
    ~Segment();

    [[nodiscard]] std::byte* data() const noexcept { return memory_.data(); }
    [[nodiscard]] int fd() const noexcept { return fd_; } ///< -1 where it is a peer's

  private:
    void map(const std::string& what, int fd, std::size_t size, int protection);

    std::span<std::byte> memory_;
    int fd_ = -1;
};

} // namespace verbena::shm
