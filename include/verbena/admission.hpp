/// @file
/// What a message waits for, and how a sender learns that one more would be too much.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include <verbena/export.hpp>
#include <verbena/operation.hpp>

namespace verbena {

/// What clears it is under way in every case: asking again after progress() always gets further. A completion queue is
/// not among them: its entries are reserved for as long as a queue pair exists, so nobody waits for one.
enum class WaitsFor : std::uint8_t {
    nothing,
    send_queue,      ///< a slot of the send queue
    peer_credit,     ///< a receive buffer of the peer
    read_depth,      ///< READs and atomics that the peer takes at once
    peer_reply,      ///< the peer to fetch the large messages that are on their way
    acknowledgement, ///< the peer's device to acknowledge what a flush is for
    backlog,         ///< its turn: nothing holds up the oldest waiting message any more
};

/// As ChannelInfo::waiting_for spells it: "send queue", "peer credit"; empty for nothing.
[[nodiscard]] VERBENA_API std::string_view name(WaitsFor cause) noexcept;

/// The message was not taken: so many bytes wait already. An ordinary value, no error.
struct WouldBlock {
    WaitsFor cause = WaitsFor::nothing; ///< what the oldest waiting message waits for
    std::uint64_t waiting_bytes = 0;    ///< held by the back-log of this peer
    std::uint64_t limit_bytes = 0;      ///< the setting `backlog-limit`
};

/// What a try gives: the started call, or why it was not taken.
using Admission = std::variant<Operation, WouldBlock>;

} // namespace verbena
