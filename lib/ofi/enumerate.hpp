/// @file
/// What libfabric offers here: providers with reliable datagram endpoints (FI_EP_RDM), messages, RMA and send order.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <verbena/device.hpp>

#include "ofi/handle.hpp"

namespace verbena::ofi {

/// Entries that we let one completion queue have: libfabric states no limit, and keeps more than asked for in a list.
inline constexpr std::uint32_t max_completions = 1u << 20;
/// Lengths of one request and of one completion are 32 bits in lib/wire.
inline constexpr std::uint64_t max_message_bytes = UINT32_MAX;

/// One device a provider; "tcp" and "shm" first where they exist. A provider that cannot be used has its problem.
[[nodiscard]] std::vector<DeviceInfo> enumerate_devices();

/// The device called `name`, which may also be the exact name of a provider ("tcp;ofi_rxm"); null when there is none.
[[nodiscard]] const DeviceInfo* find_device(std::span<const DeviceInfo> devices, std::string_view name);

/// "tcp, shm, net": for messages.
[[nodiscard]] std::string names_of(std::span<const DeviceInfo> devices);

/// Asks for everything verbena can use of one provider: atomics and fences where it has them.
/// @param source address to bind to, as numbers or name; empty: the provider's choice. Null when it offers nothing.
[[nodiscard]] Info query_provider(const std::string& provider, const std::string& source);

} // namespace verbena::ofi
