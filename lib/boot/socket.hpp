/// @file
/// TCP sockets as the store and its clients need them: non-blocking, closed on exec, with a limit for silent peers.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/socket.h>

namespace verbena::boot {

using Deadline = std::chrono::steady_clock::time_point;

/// Owner of a file descriptor.
class FileDescriptor {
  public:
    FileDescriptor() noexcept = default;
    explicit FileDescriptor(int fd) noexcept : fd_(fd) {}
    FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    FileDescriptor& operator=(FileDescriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~FileDescriptor();

    [[nodiscard]] int get() const noexcept { return fd_; }
    explicit operator bool() const noexcept { return fd_ >= 0; }

  private:
    int fd_ = -1;
};

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t length = 0;
};

/// "10.0.0.1:4000", "[fe80::1%2]:4000"; an IPv4 address mapped into IPv6 reads as IPv4.
[[nodiscard]] std::string describe(const SocketAddress& address);
/// "host:port", with brackets where the host holds colons.
[[nodiscard]] std::string host_and_port(std::string_view host, std::uint16_t port);

/// "30 s", "0.25 s".
[[nodiscard]] std::string in_seconds(std::chrono::nanoseconds duration);

/// Milliseconds for poll() and epoll_wait() until `deadline`, rounded up; 0 once it has passed.
[[nodiscard]] int milliseconds_until(Deadline deadline) noexcept;
/// Waits for poll() `events`; false once the deadline has passed.
[[nodiscard]] bool wait_for(int fd, short events, Deadline deadline);

/// A peer whose host answers nothing for `timeout` (seconds, at least one) ends the connection with ETIMEDOUT, whether
/// or not something is on its way to it. Messages are small: they go at once (TCP_NODELAY).
void watch_peer(int fd, std::chrono::nanoseconds timeout);

/// Listens; an empty address means every one, IPv4 and IPv6. @throws Error naming address, port and what to do.
[[nodiscard]] FileDescriptor listen_on(const std::string& address, std::uint16_t port);
[[nodiscard]] SocketAddress local_address(int fd);
[[nodiscard]] SocketAddress peer_address(int fd);

} // namespace verbena::boot
