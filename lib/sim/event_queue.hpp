#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace verbena::sim {

using Time = std::uint64_t; ///< virtual nanoseconds since the fabric was made

enum class EventKind : std::uint8_t {
    transmit,   ///< the requester may send its next message
    arrival,    ///< a request is at the responder
    execution,  ///< a READ, atomic or WRITE takes effect, later than it arrived
    response,   ///< an acknowledgement, NAK or read response is back at the requester
    retransmit, ///< a retry timer of the requester has run out
};

/// Something that happens to one message of one queue pair: always the *requester's*. Plain numbers, so that an event
/// outlives what it is about without harm, and two runs can be compared.
struct Event {
    Time time = 0;
    std::uint64_t sequence = 0; ///< breaks ties: first scheduled, first executed
    EventKind kind{};
    std::uint32_t device = 0;
    std::uint32_t queue_pair = 0;
    std::uint32_t stream = 0;
    std::uint64_t message = 0;
};

/// By time, then by sequence.
class EventQueue {
  public:
    void push(Event event) {
        event.sequence = next_sequence_++;
        heap_.push_back(event);
        std::ranges::push_heap(heap_, is_later);
    }

    /// Requires !is_empty().
    Event pop() {
        std::ranges::pop_heap(heap_, is_later);
        const Event event = heap_.back();
        heap_.pop_back();
        return event;
    }

    [[nodiscard]] bool is_empty() const noexcept { return heap_.empty(); }
    [[nodiscard]] Time next_time() const noexcept { return heap_.front().time; }

  private:
    static bool is_later(const Event& a, const Event& b) noexcept {
        return a.time != b.time ? a.time > b.time : a.sequence > b.sequence;
    }

    std::vector<Event> heap_;
    std::uint64_t next_sequence_ = 0;
};

} // namespace verbena::sim
