/// @file
/// The segment of one queue pair, made by it and written by its peer: what comes in.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shm/ring.hpp"

namespace verbena::shm {

/// Chosen for the default window of 64 messages of 8 KiB: a quarter of it is on its way before the sender waits, and
/// both ends' rings stay in a second-level cache. A pair of ranks has two.
inline constexpr std::uint32_t ring_slots = 256;
inline constexpr std::uint32_t ring_bytes = 128 * 1024;
/// Longer payload goes in several records: RingView::max_payload_bytes() of such a ring.
inline constexpr std::uint32_t max_fragment_bytes = ring_bytes / 4;

/// First in the segment.
struct InboundHeader {
    std::uint64_t nonce;   ///< of the owner's address, written before the address is given away
    std::uint64_t scratch; ///< written by the peer, by cross-memory attach, to see whether that works
    /// Line of the owner: whether it still takes messages.
    alignas(cache_line_bytes) std::atomic<std::uint32_t> closed;
    ConsumedIndex consumed; ///< line of the owner
};

inline constexpr std::size_t slots_offset = 4096; ///< a page, whatever the header grows to
inline constexpr std::size_t bytes_offset = slots_offset + ring_slots * sizeof(Slot);
inline constexpr std::size_t inbound_bytes = bytes_offset + ring_bytes;
static_assert(sizeof(InboundHeader) <= slots_offset && (ring_slots & (ring_slots - 1)) == 0 &&
              (ring_bytes & (ring_bytes - 1)) == 0);

[[nodiscard]] inline InboundHeader& header_of(std::byte* segment) noexcept {
    return *reinterpret_cast<InboundHeader*>(segment);
}

[[nodiscard]] inline RingView ring_of(std::byte* segment) noexcept {
    return {reinterpret_cast<Slot*>(segment + slots_offset), ring_slots, segment + bytes_offset, ring_bytes,
            &header_of(segment).consumed};
}

} // namespace verbena::shm
