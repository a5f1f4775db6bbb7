/// @file
/// The header of every datagram, version 1: little-endian, fixed layout (docs/wire-format.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "wire/types.hpp"

namespace verbena::reliable {

/// Number of a packet on its way from one end to one peer; wraps.
using Sequence = std::uint32_t;

/// How far `a` is ahead of `b`, negative when it is behind: right while they are less than 2^31 apart.
[[nodiscard]] constexpr std::int32_t ahead(Sequence a, Sequence b) noexcept { return static_cast<std::int32_t>(a - b); }

enum class PacketKind : std::uint8_t {
    acknowledgement = 1, ///< has no sequence number of its own; the first 32 bytes only
    message = 2,         ///< a piece of a message
    read = 3,            ///< asks for `length` bytes at `address`
    write = 4,           ///< a piece of a WRITE
    response = 5,        ///< a piece of what a READ asked for, or how a WRITE ended
};

enum PacketFlags : std::uint8_t {
    last_piece = 1,
    has_immediate = 2,
    acknowledge_now = 4, ///< the sender waits; of an acknowledgement: it asks for one in return
};

struct PacketHeader {
    static constexpr std::uint8_t current_version = 1;

    std::uint8_t version = current_version;
    PacketKind kind{};
    std::uint8_t flags = 0;
    std::uint8_t status = 0;     ///< wire::CompletionStatus of a response
    std::uint32_t source = 0;    ///< rank of the sender
    std::uint64_t session = 0;   ///< the receiver's: a random number that its address told
    Sequence sequence = 0;       ///< of this packet
    Sequence acknowledged = 0;   ///< everything before it has been taken in
    std::uint64_t selective = 0; ///< bit i: packet acknowledged + i has arrived
    std::uint32_t operation = 0; ///< names the READ or WRITE; of its end that asked
    std::uint32_t length = 0;    ///< bytes of the whole message, READ or WRITE
    std::uint32_t offset = 0;    ///< of this piece
    std::uint32_t immediate = 0;
    std::uint64_t address = 0; ///< READ, WRITE
    std::uint64_t rkey = 0;    ///< READ, WRITE
};
static_assert(sizeof(PacketHeader) == 64 && offsetof(PacketHeader, operation) == 32);

inline constexpr std::size_t header_bytes = sizeof(PacketHeader);
inline constexpr std::size_t acknowledgement_bytes = 32;

/// Reads the header of what arrived. Nothing for bytes that no verbena of this version sends: another version, an
/// unknown kind, flag or status, a length that disagrees with the bytes that arrived.
[[nodiscard]] std::optional<PacketHeader> parse_packet(std::span<const std::byte> packet) noexcept;

} // namespace verbena::reliable
