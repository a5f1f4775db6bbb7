#include "boot/socket.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>

#include <verbena/error.hpp>

namespace verbena::boot {
namespace {

void set_option(int fd, int level, int name, int value) {
    setsockopt(fd, level, name, &value, sizeof value); // all of ours exist in every supported kernel
}

[[noreturn]] void listen_failed(const std::string& where, std::uint16_t port, int error) {
    const Cause cause{Origin::system_errno, error, 0};
    const std::string sentence = fmt::format("the store cannot listen on {}: {}", where, describe(cause));
    switch (error) {
    case EADDRINUSE:
        throw Error(ErrorCode::refused, fmt::format("the store cannot listen on {}: the port is in use", where),
                    fmt::format("choose another port with --store HOST:PORT (VERBENA_STORE), or see who holds it: "
                                "ss -ltnp 'sport = :{}'",
                                port),
                    cause);
    case EADDRNOTAVAIL:
        throw Error(ErrorCode::invalid_argument, sentence,
                    "no interface of this host has that address: see `ip address`", cause);
    case EACCES:
        throw Error(ErrorCode::refused, sentence, "ports below 1024 need CAP_NET_BIND_SERVICE: choose a higher one",
                    cause);
    default:
        throw Error(ErrorCode::unavailable, sentence, {}, cause);
    }
}

/// errno, or 0 when `fd` listens on `address`.
int try_listen(int fd, const sockaddr* address, socklen_t length) {
    set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1); // connections of an earlier run in TIME_WAIT do not hold the port
    return bind(fd, address, length) == 0 && listen(fd, SOMAXCONN) == 0 ? 0 : errno;
}

FileDescriptor make_listener(int family) {
    return FileDescriptor(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

FileDescriptor listen_everywhere(std::uint16_t port) {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    if (FileDescriptor fd = make_listener(AF_INET6)) {
        set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
        const int error = try_listen(fd.get(), reinterpret_cast<const sockaddr*>(&v6), sizeof v6);
        if (error == 0) return fd;
        if (error != EADDRNOTAVAIL) listen_failed(host_and_port("*", port), port, error);
    }
    // No IPv6 on this host (ipv6.disable, or disable_ipv6 on every interface).
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    FileDescriptor fd = make_listener(AF_INET);
    const int error = fd ? try_listen(fd.get(), reinterpret_cast<const sockaddr*>(&v4), sizeof v4) : errno;
    if (error != 0) listen_failed(host_and_port("*", port), port, error);
    return fd;
}

} // namespace

FileDescriptor::~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
}

std::string host_and_port(std::string_view host, std::uint16_t port) {
    return host.find(':') == std::string_view::npos ? fmt::format("{}:{}", host, port)
                                                    : fmt::format("[{}]:{}", host, port);
}

std::string describe(const SocketAddress& address) {
    char host[NI_MAXHOST];
    char port[NI_MAXSERV];
    if (getnameinfo(reinterpret_cast<const sockaddr*>(&address.storage), address.length, host, sizeof host, port,
                    sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
        return "unknown address";
    }
    constexpr std::string_view mapped = "::ffff:";
    std::string_view text = host;
    if (text.starts_with(mapped) && text.find('.') != std::string_view::npos) text.remove_prefix(mapped.size());
    return text.find(':') == std::string_view::npos ? fmt::format("{}:{}", text, port)
                                                    : fmt::format("[{}]:{}", text, port);
}

std::string in_seconds(std::chrono::nanoseconds duration) {
    return fmt::format("{:g} s",
                       std::chrono::duration<double>(std::chrono::round<std::chrono::milliseconds>(duration)).count());
}

int milliseconds_until(Deadline deadline) noexcept {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    return static_cast<int>(std::clamp<decltype(left)>(left, 0, 60'000)); // callers look at the clock again after it
}

bool wait_for(int fd, short events, Deadline deadline) {
    pollfd entry{fd, events, 0};
    while (true) {
        const int ready = poll(&entry, 1, milliseconds_until(deadline));
        if (ready > 0) return true;
        if (ready < 0 && errno != EINTR) {
            throw Error(ErrorCode::internal, "poll of the store's socket", {}, Cause{Origin::system_errno, errno, 0});
        }
        if (std::chrono::steady_clock::now() >= deadline) return false;
    }
}

void watch_peer(int fd, std::chrono::nanoseconds timeout) {
    const auto milliseconds =
        std::max<long>(1000, std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count());
    const int limit = static_cast<int>(std::min<long>(milliseconds, 24 * 3600 * 1000L));
    const int probe_seconds = std::max(1, limit / 4000);
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, probe_seconds);
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, probe_seconds);
    // Decides both for unanswered probes (instead of TCP_KEEPCNT) and for unacknowledged data, a closed window
    // included.
    set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, limit);
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
}

FileDescriptor listen_on(const std::string& address, std::uint16_t port) {
    if (address.empty()) return listen_everywhere(port);
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    addrinfo* found = nullptr;
    const int result = getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found);
    if (result != 0) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("the store cannot listen on \"{}\": {}", address, gai_strerror(result)),
                    "set bind to an address of this host, or leave it empty for every one");
    }
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
    FileDescriptor fd = make_listener(found->ai_family);
    const int error = fd ? try_listen(fd.get(), found->ai_addr, found->ai_addrlen) : errno;
    if (error != 0) listen_failed(host_and_port(address, port), port, error);
    return fd;
}

SocketAddress local_address(int fd) {
    SocketAddress address;
    address.length = sizeof address.storage;
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&address.storage), &address.length) != 0) address.length = 0;
    return address;
}

SocketAddress peer_address(int fd) {
    SocketAddress address;
    address.length = sizeof address.storage;
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&address.storage), &address.length) != 0) address.length = 0;
    return address;
}

} // namespace verbena::boot
