/// @file
/// The address of an endpoint as it travels to a peer: the provider's name, so that ranks on different providers
/// notice, and the bytes that the provider knows it by.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "wire/types.hpp"

namespace verbena::ofi {

struct EndpointAddress {
    std::string provider;
    std::vector<std::byte> bytes; ///< fi_getname()
};

/// One byte of length and the provider's name, two of length (low byte first) and the provider's bytes.
/// @throws Error (exhausted) when that is more than wire::max_address_bytes.
[[nodiscard]] wire::Address pack_address(const EndpointAddress& address);

/// @throws Error (protocol_violation)
[[nodiscard]] EndpointAddress unpack_address(std::span<const std::byte> packed);

/// The socket address `bytes` with `host` in place of its own, and its port.
/// @throws Error (invalid_argument) when `host` has no address of the same family.
[[nodiscard]] std::vector<std::byte> readdressed(std::span<const std::byte> bytes, const std::string& host);

} // namespace verbena::ofi
