#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "wire/types.hpp"

namespace verbena::sim {

/// What one end tells the other, 20 bytes: a tag, then these.
struct EndAddress {
    std::uint32_t device = 0;
    std::uint32_t queue_pair = 0;
    std::uint32_t mtu_bytes = 0;
    std::uint32_t max_read_atomic = 0;

    friend bool operator==(const EndAddress&, const EndAddress&) = default;
};

[[nodiscard]] wire::Address encode(const EndAddress& address);
/// Nothing when these are not the bytes of an address.
[[nodiscard]] std::optional<EndAddress> decode(std::span<const std::byte> bytes);

} // namespace verbena::sim
