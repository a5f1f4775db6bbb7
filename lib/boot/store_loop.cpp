#include "boot/store_loop.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <fmt/format.h>

#include <verbena/error.hpp>

namespace verbena::boot {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t listener_id = 0;
constexpr std::uint64_t wake_id = 1;
constexpr std::uint64_t first_connection_id = 2;
constexpr int accepts_a_turn = 64;               ///< so that a flood leaves time for members
constexpr auto out_of_descriptors_pause = 100ms; ///< new clients wait in the kernel's queue meanwhile

FileDescriptor checked(int fd, const char* call) {
    if (fd < 0) {
        throw Error(ErrorCode::exhausted, fmt::format("the store cannot start: {} failed", call),
                    "see the limit of open files: ulimit -n", Cause{Origin::system_errno, errno, 0});
    }
    return FileDescriptor(fd);
}

std::uint16_t port_of(int fd) {
    const SocketAddress address = local_address(fd);
    // sin_port and sin6_port lie at the same offset
    return ntohs(reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_port);
}

} // namespace

StoreLoop::StoreLoop(const StoreServer::Options& options)
    : options_(options),
      key_(key_from(options.secret)),
      listener_(listen_on(options.bind, options.port)),
      epoll_(checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1")),
      wake_(checked(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")),
      port_(port_of(listener_.get())),
      job_(options.size, options.store_rank),
      next_id_(first_connection_id) {
    options_.secret.clear(); // the key is enough
    watch(listener_.get(), listener_id, EPOLLIN, EPOLL_CTL_ADD);
    watch(wake_.get(), wake_id, EPOLLIN, EPOLL_CTL_ADD);
}

void StoreLoop::watch(int fd, Id id, std::uint32_t events, int operation) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = id;
    if (epoll_ctl(epoll_.get(), operation, fd, &event) != 0) {
        throw Error(ErrorCode::exhausted, "the store cannot watch a socket", {}, Cause{Origin::system_errno, errno, 0});
    }
}

void StoreLoop::stop() noexcept {
    stopping_ = true;
    const std::uint64_t one = 1;
    // Cannot fail: the counter is far from its end, and run() need only see it once.
    [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof one);
}

bool StoreLoop::wait_until_empty(Deadline deadline) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, deadline, [this] { return present_ == 0; });
}

void StoreLoop::run() noexcept {
    while (!stopping_) {
        try {
            turn();
        } catch (const std::exception&) {
            // Out of memory or of kernel objects: the turn is lost, and what it was about comes again with the next.
            pause_listening();
        }
    }
    try {
        say_goodbye();
    } catch (const std::exception&) {
        // The clients see the sockets close instead.
    }
}

void StoreLoop::turn() {
    std::array<epoll_event, 64> events;
    const int count =
        epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), milliseconds_until(next_deadline()));
    for (int i = 0; i < count && !stopping_; ++i) {
        const Id id = events[static_cast<std::size_t>(i)].data.u64;
        if (id == listener_id)
            accept_new();
        else if (id != wake_id)
            serve(id);
        flush_dirty();
    }
    expire();
    flush_dirty();
    publish_presence();
}

Deadline StoreLoop::next_deadline() const {
    Deadline next = std::chrono::steady_clock::now() + 1min;
    if (!strangers_.empty()) next = std::min(next, connections_.at(*strangers_.begin()).join_by());
    if (!is_listening_) next = std::min(next, listen_again_);
    return next;
}

void StoreLoop::accept_new() {
    for (int i = 0; i < accepts_a_turn; ++i) {
        FileDescriptor fd(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (fd) {
            admit_stranger(std::move(fd));
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            pause_listening(); // the listener stays readable: without a pause this would spin
            return;
        } else if (errno == EAGAIN) {
            return;
        } // else that one connection failed before it was accepted
    }
}

void StoreLoop::admit_stranger(FileDescriptor fd) {
    if (strangers_.size() >= options_.size + spare_strangers) remove(*strangers_.begin(), {});
    watch_peer(fd.get(), options_.peer_timeout);
    const Id id = next_id_++;
    const int raw = fd.get();
    const Deadline join_by = std::chrono::steady_clock::now() + options_.handshake_timeout;
    connections_.emplace(id, Connection(std::move(fd), key_, join_by));
    strangers_.insert(id);
    watch(raw, id, EPOLLIN, EPOLL_CTL_ADD);
}

void StoreLoop::serve(Id id) {
    const auto found = connections_.find(id);
    if (found == connections_.end()) return; // removed earlier in this turn
    Connection& connection = found->second;
    try {
        for (const std::string& bytes : connection.receive()) handle(id, connection, bytes);
    } catch (const std::exception& error) {
        remove(id, fmt::format("its messages could not be handled ({})", error.what()));
        return;
    }
    if (connection.state() == Connection::State::ended)
        remove(id, why_ended(connection));
    else
        dirty_.insert(id);
}

void StoreLoop::handle(Id id, Connection& connection, const std::string& bytes) {
    if (connection.state() == Connection::State::refused || connection.has_left) return;
    Message message = decode(bytes);
    if (connection.is_stranger()) {
        const auto* first = std::get_if<Join>(&message);
        if (first == nullptr) throw Error(ErrorCode::protocol_violation, "the first message is not Join");
        join(id, connection, *first);
        return;
    }
    connection.has_left = std::holds_alternative<Leave>(message);
    Outbox out;
    job_.handle(connection.rank(), std::move(message), out);
    post(out);
}

void StoreLoop::join(Id id, Connection& connection, const Join& message) {
    Outbox out;
    const Welcome welcome = job_.join(message, out);
    connection.send(std::make_shared<const std::string>(encode(welcome)));
    if (welcome.admission != Admission::admitted) {
        connection.refuse();
        return;
    }
    connection.become_member(message.rank);
    strangers_.erase(id);
    members_[message.rank] = id;
    post(out);
}

void StoreLoop::post(const Outbox& out) {
    for (const Outgoing& outgoing : out) {
        const auto member = members_.find(outgoing.rank);
        if (member == members_.end()) continue;
        connections_.at(member->second).send(outgoing.message);
        dirty_.insert(member->second);
    }
}

void StoreLoop::flush_dirty() {
    for (const Id id : std::exchange(dirty_, {})) {
        const auto found = connections_.find(id);
        if (found == connections_.end()) continue;
        Connection& connection = found->second;
        connection.flush();
        if (connection.wants_to_write() != connection.registered_for_write) {
            connection.registered_for_write = connection.wants_to_write();
            watch(connection.fd(), id, connection.registered_for_write ? EPOLLIN | EPOLLOUT : EPOLLIN, EPOLL_CTL_MOD);
        }
    }
}

void StoreLoop::remove(Id id, const std::string& reason) {
    const auto found = connections_.find(id);
    const std::uint32_t rank = found->second.rank();
    const bool has_left = found->second.has_left;
    connections_.erase(found);
    strangers_.erase(id);
    const auto member = members_.find(rank);
    if (member == members_.end() || member->second != id) return; // a stranger, or its rank has joined anew
    members_.erase(member);
    if (has_left) return;
    Outbox out;
    job_.lose(rank, reason, out);
    post(out);
}

void StoreLoop::expire() {
    const Deadline now = std::chrono::steady_clock::now();
    while (!strangers_.empty() && connections_.at(*strangers_.begin()).join_by() <= now)
        remove(*strangers_.begin(), {});
    if (!is_listening_ && listen_again_ <= now) resume_listening();
}

void StoreLoop::pause_listening() {
    listen_again_ = std::chrono::steady_clock::now() + out_of_descriptors_pause;
    if (!std::exchange(is_listening_, false)) return;
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener_.get(), nullptr);
}

void StoreLoop::resume_listening() {
    watch(listener_.get(), listener_id, EPOLLIN, EPOLL_CTL_ADD);
    is_listening_ = true;
}

void StoreLoop::publish_presence() {
    const std::lock_guard lock(mutex_);
    if (std::exchange(present_, job_.present()) != present_) changed_.notify_all();
}

void StoreLoop::say_goodbye() {
    const auto goodbye = std::make_shared<const std::string>(encode(Closing{}));
    for (const auto& [rank, id] : members_) {
        Connection& connection = connections_.at(id);
        connection.send(goodbye);
        connection.flush();
        [[maybe_unused]] const auto unread = connection.receive(); // unread bytes would make the close a reset
    }
}

std::string StoreLoop::why_ended(const Connection& connection) const {
    switch (connection.error()) {
    case 0:
    case EPIPE:
        return "its process ended without leaving the job";
    case ECONNRESET:
        return "its process ended, or its host restarted, without leaving the job (ECONNRESET)";
    case ETIMEDOUT:
        return fmt::format("its host answered nothing for {} (ETIMEDOUT)", in_seconds(options_.peer_timeout));
    default:
        return describe(Cause{Origin::system_errno, connection.error(), 0});
    }
}

} // namespace verbena::boot
