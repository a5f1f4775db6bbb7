#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/request.hpp"

namespace verbena::sim {

/// What a requester waits for before it sends again from its oldest unanswered message.
enum class Recovery : std::uint8_t { none, timeout, not_ready };

/// One direction of a reliable connection, the state of both of its ends: messages are numbered, accepted in order,
/// and repeated from the oldest one when one is lost. An RC queue pair has one, an RDM endpoint one for each peer.
class Stream {
  public:
    Stream(std::uint32_t device, std::uint32_t queue_pair) : peer_device(device), peer_queue_pair(queue_pair) {}

    std::uint32_t peer_device;
    std::uint32_t peer_queue_pair;

    // Requester.
    std::uint64_t next = 0; ///< message to transmit next
    std::uint32_t fetches_outstanding = 0;
    std::uint8_t retries_left = 0;
    std::uint8_t rnr_retries_left = 0;
    Recovery recovery = Recovery::none;
    bool transmit_scheduled = false;
    bool stopped = false; ///< a message failed: nothing behind it leaves

    // Responder.
    std::uint64_t expected = 0;    ///< oldest message not yet accepted
    Time last_arrival = 0;         ///< messages do not overtake each other on the wire
    std::uint64_t late_writes = 0; ///< WRITEs that arrived and are not placed yet
    Time last_fetch = 0;           ///< nor do READs and atomics when they take effect

    void push(Request* request) { pending_.push_back(request); }

    [[nodiscard]] std::uint64_t base() const noexcept { return base_; }
    [[nodiscard]] std::uint64_t end() const noexcept { return base_ + pending_.size() - head_; }

    /// The message, or null when it is not pending any more.
    [[nodiscard]] Request* find(std::uint64_t message) const noexcept {
        return message < base_ || message >= end() ? nullptr : pending_[head_ + (message - base_)];
    }
    [[nodiscard]] bool is_finished(std::uint64_t message) const noexcept {
        const Request* const request = find(message);
        return request == nullptr || request->finished;
    }
    /// Oldest message without an answer; end() when there is none.
    [[nodiscard]] std::uint64_t oldest_unfinished() const noexcept {
        std::uint64_t message = base_;
        while (message < end() && is_finished(message)) ++message;
        return message;
    }

    void advance_expected() noexcept {
        while (expected < end() && (is_finished(expected) || find(expected)->accepted)) ++expected;
    }

    /// Takes a message out; the others keep their numbers.
    void remove(std::uint64_t message) {
        pending_[head_ + (message - base_)] = nullptr;
        while (head_ != pending_.size() && pending_[head_] == nullptr) {
            ++head_;
            ++base_;
        }
        if (head_ * 2 < pending_.size()) return;
        pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(head_));
        head_ = 0;
    }

  private:
    std::vector<Request*> pending_; ///< from head_ on: posted and not complete; null where completed out of order
    std::size_t head_ = 0;
    std::uint64_t base_ = 0; ///< number of the message at head_
};

} // namespace verbena::sim
