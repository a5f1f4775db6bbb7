/// @file
/// The store's end of one connection: a stranger until its secret is proven and it has joined as a rank.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "boot/crypto.hpp"
#include "boot/handshake.hpp"
#include "boot/socket.hpp"

namespace verbena::boot {

/// Never blocks. A stranger costs a socket and this object; memory grows with what members have to be told only. Used
/// by the store's thread alone.
class Connection {
  public:
    enum class State : std::uint8_t { handshake, joining, member, refused, ended };

    Connection(FileDescriptor fd, const Key& key, Deadline join_by)
        : fd_(std::move(fd)), handshake_(key), join_by_(join_by) {}

    /// Reads what has arrived, a bounded amount of it, and returns the messages in it.
    /// @throws Error for bytes that no client sends.
    [[nodiscard]] std::vector<std::string> receive();
    /// Queues a message for a joining client or a member.
    void send(std::shared_ptr<const std::string> message);
    /// Writes what the socket takes.
    void flush();
    /// Says nothing more than what is queued, and waits for the client to close.
    void refuse() noexcept { state_ = State::refused; }
    void become_member(std::uint32_t rank);

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    [[nodiscard]] State state() const noexcept { return state_; }
    [[nodiscard]] bool wants_to_write() const noexcept { return !out_.empty() || !queue_.empty(); }
    [[nodiscard]] std::uint32_t rank() const noexcept { return rank_; } ///< of a member, also after it ended
    [[nodiscard]] bool is_stranger() const noexcept { return state_ != State::member; }
    [[nodiscard]] Deadline join_by() const noexcept { return join_by_; }
    /// Why it ended: 0 for end of file, else errno.
    [[nodiscard]] int error() const noexcept { return error_; }

    bool registered_for_write = false; ///< the event loop's note
    bool has_left = false;             ///< a Leave has come: the end of file is expected

  private:
    /// recv() with the state brought up to date; 0 when there is nothing now or no more.
    std::size_t read_some(unsigned char* to, std::size_t count);
    void greet();

    FileDescriptor fd_;
    State state_ = State::handshake;
    StoreHandshake handshake_;
    std::optional<Sealer> sealer_;
    std::optional<Opener> opener_;
    std::deque<std::shared_ptr<const std::string>> queue_; ///< sealed only when the socket has room
    std::string out_;
    std::size_t sent_ = 0;   ///< bytes of out_
    bool is_broken_ = false; ///< nothing can be written any more
    std::uint32_t rank_ = 0;
    Deadline join_by_;
    int error_ = 0;
};

} // namespace verbena::boot
