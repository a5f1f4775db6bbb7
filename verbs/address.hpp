/// @file
/// What two queue pairs tell each other before they connect, as bytes: fixed layout, versioned, little-endian.
///
///     offset size                          offset size
///      0     4   magic "VBRC"; UD "VBUD"   24    1   GID type: 0 IB, 1 RoCE v1, 2 RoCE v2
///      4     2   version                    25    1   zero
///      6     2   size of all, bytes         26    2   GID index
///      8     4   queue pair number (24 bit) 28    4   Q_Key of UD; RC zero
///     12     4   first PSN (24 bit)         32   16   GID, network order
///     16     2   LID                        48   32   device name, zero-padded
///     18     1   port                       80   16   interface name, zero-padded
///     19     1   link layer: 1 InfiniBand, 2 Ethernet
///     20     2   active MTU, bytes
///     22     2   READs and atomics it takes as responder
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "verbs/gid_rules.hpp"
#include "wire/types.hpp"

namespace verbena::verbs {

enum class LinkLayer : std::uint8_t { infiniband = 1, ethernet = 2 };

struct QueuePairAddress {
    std::uint32_t number = 0;
    std::uint32_t psn = 0;
    std::uint32_t qkey = 0; ///< of a UD queue pair; 0: it is an RC one
    std::uint16_t lid = 0;
    std::uint8_t port = 1;
    LinkLayer link_layer = LinkLayer::ethernet;
    std::uint16_t active_mtu_bytes = 0;
    std::uint16_t max_read_atomic = 0;
    std::uint8_t gid_type = 0;
    std::uint16_t gid_index = 0;
    Gid gid{};
    std::string device;
    std::string netdev;

    friend bool operator==(const QueuePairAddress&, const QueuePairAddress&) = default;
};

inline constexpr std::size_t address_bytes = 96;
inline constexpr std::uint16_t address_version = 1;

[[nodiscard]] wire::Address encode(const QueuePairAddress& address);

/// Any bytes give a value whose fields are all in range, or an Error. @throws Error (protocol_violation)
[[nodiscard]] QueuePairAddress decode(std::span<const std::byte> bytes);

/// Code of a GidInfo::type.
[[nodiscard]] std::uint8_t gid_type_code(std::string_view type) noexcept;

/// "rxe1 port 1 GID 1 ::ffff:10.9.0.1 (RoCE v2, a_1)"
[[nodiscard]] std::string describe_endpoint(const QueuePairAddress& address);
/// The same and " qp 0x11".
[[nodiscard]] std::string describe(const QueuePairAddress& address);

} // namespace verbena::verbs
