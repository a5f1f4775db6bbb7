/// @file
/// Our way to one peer, whatever is below it.
#pragma once

#include <cstdint>
#include <string>

#include <verbena/error.hpp>

#include "flow/credit_window.hpp"
#include "peer/receive_pool.hpp"
#include "peer/send_queue.hpp"
#include "wire/types.hpp"

namespace verbena::peer {

/// Plain state, kept by the QueuePairManager and moved by the message layer. Progress-thread only.
struct Channel {
    static Status not_connected() noexcept {
        Status status;
        status.code = ErrorCode::unavailable;
        status.scope = Scope::channel;
        return status;
    }

    enum class State : std::uint8_t { unconnected, connected, failed };

    /// There is a slot for one more request to this peer.
    [[nodiscard]] bool has_room() const noexcept { return send_queue->has_room(outstanding); }
    /// Needs has_room().
    SendQueue::Posted post(wire::WorkRequest& request, const SlotContext& context) {
        const SendQueue::Posted posted = send_queue->post(request, context, outstanding);
        if (posted == SendQueue::Posted::yes) ++outstanding;
        return posted;
    }

    std::uint32_t rank = 0;
    State state = State::unconnected;
    SendQueue* send_queue = nullptr;     ///< its own (connected queue pairs) or shared by all channels
    ReceivePool* receive_pool = nullptr; ///< likewise
    wire::PeerHandle handle{};
    flow::CreditWindow credits{1, 1};
    std::uint32_t message_bytes = 0;    ///< largest message the peer's buffers hold, header included
    std::uint32_t outstanding = 0;      ///< requests posted for this peer and not retired
    std::uint64_t messages_sent = 0;    ///< posted
    std::uint64_t messages_retired = 0; ///< of these; on one queue pair in order
    std::uint64_t messages_received = 0;
    std::uint64_t flushed = 0;        ///< requests, of both halves, that ended because the queue pair did
    Status failure = not_connected(); ///< first root cause; until connected, that it is not
    std::string failure_record;       ///< the same as one full sentence
};

} // namespace verbena::peer
