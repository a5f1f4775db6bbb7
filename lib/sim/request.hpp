#pragma once

#include <cstdint>
#include <vector>

#include "sim/event_queue.hpp"
#include "wire/request.hpp"

namespace verbena::sim {

/// A posted send work request until it is complete, and the message that it puts on the wire: both ends look at this
/// one object. Reused, so that a steady state allocates nothing.
struct Request {
    wire::WorkRequest work;         ///< its own span is not used: see list
    std::vector<wire::Sge> list;    ///< the caller's may go once the post returned
    std::vector<std::byte> payload; ///< what is on the wire: gathered when it leaves, fetched when a READ takes effect
    std::uint32_t length = 0;       ///< of the list, bytes
    std::uint64_t slot = 0;         ///< of the send queue, counted from the first post
    Time sent_at = 0;

    // At the responder.
    bool accepted = false; ///< in order and not refused: it will take effect once
    bool executed = false; ///< it took effect; a copy that arrives later is answered with the same outcome
    Time not_ready_ns = 0; ///< not 0: the answer is an RNR NAK that asks for this pause
    wire::CompletionStatus outcome = wire::CompletionStatus::success;

    // At the requester.
    bool sent = false;
    bool finished = false; ///< answered or given up; it completes once all older ones have
    wire::CompletionStatus status = wire::CompletionStatus::success;
};

/// READs and atomics: they are answered with data, and a fence waits for them.
constexpr bool fetches(wire::Opcode opcode) noexcept {
    return opcode == wire::Opcode::rdma_read || wire::is_atomic(opcode);
}

constexpr bool has_immediate(wire::Opcode opcode) noexcept {
    return opcode == wire::Opcode::send_with_imm || opcode == wire::Opcode::rdma_write_with_imm;
}

constexpr bool consumes_receive(wire::Opcode opcode) noexcept {
    return opcode == wire::Opcode::send || has_immediate(opcode);
}

} // namespace verbena::sim
