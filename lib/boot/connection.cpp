#include "boot/connection.hpp"

#include <array>
#include <cerrno>

#include <sys/socket.h>

namespace verbena::boot {
namespace {

constexpr std::size_t read_bytes = 64 << 10;   ///< one connection's share of a turn of the loop
constexpr std::size_t sealed_bytes = 64 << 10; ///< sealed ahead of the socket

} // namespace

std::size_t Connection::read_some(unsigned char* to, std::size_t count) {
    const ssize_t got = recv(fd_.get(), to, count, 0);
    if (got > 0) return static_cast<std::size_t>(got);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (got < 0) error_ = errno;
    state_ = State::ended;
    return 0;
}

std::vector<std::string> Connection::receive() {
    std::vector<std::string> messages;
    if (state_ == State::handshake) {
        greet();
        return messages;
    }
    std::array<unsigned char, read_bytes> bytes;
    const std::size_t got = read_some(bytes.data(), state_ == State::member ? bytes.size() : max_join_record_bytes);
    if (got == 0 || state_ == State::refused) return messages;
    opener_->add({reinterpret_cast<const char*>(bytes.data()), got});
    while (auto message = opener_->next()) messages.push_back(std::move(*message));
    return messages;
}

void Connection::greet() {
    const auto space = handshake_.space();
    const std::size_t got = read_some(space.data(), space.size());
    if (got == 0) return;
    switch (handshake_.advance(got, out_)) {
    case StoreHandshake::Verdict::more:
        break;
    case StoreHandshake::Verdict::refused:
        state_ = out_.empty() ? State::ended : State::refused;
        break;
    case StoreHandshake::Verdict::established:
        sealer_.emplace(handshake_.session().record_key(Role::store));
        opener_.emplace(handshake_.session().record_key(Role::client), max_join_record_bytes);
        state_ = State::joining;
        break;
    }
}

void Connection::become_member(std::uint32_t rank) {
    rank_ = rank;
    opener_->set_limit(max_record_bytes);
    state_ = State::member;
}

void Connection::send(std::shared_ptr<const std::string> message) {
    if (!is_broken_) queue_.push_back(std::move(message));
}

void Connection::flush() {
    while (wants_to_write()) {
        while (!queue_.empty() && out_.size() < sealed_bytes) {
            sealer_->seal(*queue_.front(), out_);
            queue_.pop_front();
        }
        const ssize_t count = ::send(fd_.get(), out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL);
        if (count < 0) {
            if (errno == EAGAIN || errno == EINTR) return;
            // Only writing is over: what the client said before it went, a Leave perhaps, is still to be read.
            error_ = errno;
            is_broken_ = true;
            queue_.clear();
            out_.clear();
            return;
        }
        sent_ += static_cast<std::size_t>(count);
        if (sent_ == out_.size()) {
            out_.clear();
            sent_ = 0;
        }
    }
    // Closing now, with bytes of the client unread, would reset the connection and could take our answer with it.
    if (state_ == State::refused) shutdown(fd_.get(), SHUT_WR);
}

} // namespace verbena::boot
