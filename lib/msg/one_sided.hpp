/// @file
/// What an operation table entry knows of a put, get or atomic beyond what every operation has.
#pragma once

#include <cstdint>

#include "msg/engine.hpp"
#include "msg/header.hpp"
#include "order/hazard_tracker.hpp"
#include "wire/types.hpp"

namespace verbena::msg {

/// A place in a peer's region, both as its wire and as its engine know it.
struct RemotePlace {
    wire::RemoteAddress wire{};
    std::uint64_t handle = 0;
    std::uint64_t offset = 0;
    std::uint64_t memory = 0; ///< virtual address at the owner: what overlaps is told by it
};

struct OneSidedState {
    RequestKind kind{};
    bool native = false;       ///< the wire does it; else requests to the owner's engine
    bool fenced = false;       ///< the caller's fence() came just before it
    bool is_reachable = false; ///< its buffer is known to the device, or need not be
    bool started = false;      ///< something of it is posted
    bool copies = false;       ///< put: its bytes are in the slot when it is posted, and free
    bool has_waited = false;   ///< for its place in the order; counted once
    bool is_traced = false;    ///< its beginning is recorded, its end is not yet
    bool all_posted = false;   ///< nothing of it is left to post
    bool has_signal = false;   ///< a signal that is not posted yet follows the data
    bool bounced = false;      ///< get: it lands in the slot's buffer, and is copied from there
    order::HazardTracker::Token token = order::HazardTracker::none; ///< while it is watched
    std::uint64_t sequence = 0; ///< place in the program's order, among all peers' operations
    std::uint32_t answers = 0;  ///< requests that the peer has not answered
    RemotePlace place{};
    RemotePlace signal{};
    std::uint64_t signal_value = 0;
    std::uint64_t operand = 0;
    std::uint64_t compare = 0;
    std::uint64_t* before = nullptr; ///< where an atomic's old value goes; may be null
};

[[nodiscard]] constexpr bool is_atomic(RequestKind kind) noexcept {
    return kind == RequestKind::fetch_add || kind == RequestKind::compare_and_swap || kind == RequestKind::swap;
}

/// Every atomic, signal and signal's place is one aligned word of this many bytes.
inline constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);

} // namespace verbena::msg
