#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "reliable/packet.hpp"
#include "wire/types.hpp"

namespace verbena::reliable {

/// What one end tells its peers: this, 40 bytes little-endian, then the address of the datagram queue pair beneath.
struct EndAddress {
    std::uint32_t rank = 0;
    std::uint64_t session = 0;      ///< in every packet that is meant for it
    Sequence first_sequence = 0;    ///< of what it sends, to whomever
    std::uint32_t packet_bytes = 0; ///< largest packet it takes, header included
    std::uint32_t queue_pair = 0;   ///< number of the one beneath: a packet must come from it, where that can be seen
    std::span<const std::byte> native{};
};

[[nodiscard]] wire::Address encode(const EndAddress& address);
/// Nothing when these are not the bytes of an address. `native` points into them.
[[nodiscard]] std::optional<EndAddress> decode(std::span<const std::byte> bytes) noexcept;

} // namespace verbena::reliable
