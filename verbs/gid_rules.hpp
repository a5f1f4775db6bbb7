/// @file
/// Which device, port and GID to use, and why: pure functions over DeviceInfo.
///
/// A port must be ACTIVE. On InfiniBand GID 0 is used (routing is by LID). On Ethernet RoCE v2 comes before RoCE v1
/// (which no router forwards), an IPv4-mapped GID before a global IPv6 one before a link-local one, and only GIDs whose
/// interface is in this network namespace count. Settings `device`, `port` and `gid-index` narrow the choice; a forced
/// GID is taken as it is, with a warning where the rule would have passed it over.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <verbena/device.hpp>

namespace verbena {
class Settings;
}

namespace verbena::verbs {

inline constexpr std::string_view backend_name = "verbs";

/// 16 bytes in network order.
using Gid = std::array<std::byte, 16>;

[[nodiscard]] std::string gid_text(const Gid& gid);

/// How far a GID reaches; in order of preference.
enum class Reach : std::uint8_t { ipv4, ipv6, link_local };
[[nodiscard]] Reach reach_of(std::string_view gid);

/// "::ffff:10.9.0.1 (RoCE v2, eth1)"
[[nodiscard]] std::string describe(const GidInfo& gid);

/// RC, or UD where one queue pair shall reach all peers.
struct TransportChoice {
    std::string transport; ///< "rc", "ud"
    std::string reason;
};
/// The setting transport; auto is rc below ud-from ranks.
[[nodiscard]] TransportChoice choose_transport(const Settings& settings);

[[nodiscard]] std::vector<Selection> candidates(std::span<const DeviceInfo> devices, const Settings& settings,
                                                std::vector<Rejection>& rejected);

/// Why a port cannot carry traffic, with state and physical state; empty when it can.
[[nodiscard]] std::string port_problem(const PortInfo& port);

/// The partition key to use on InfiniBand: index of the first full member (high bit set), else of the first limited
/// one, else -1. Full members reach everyone in the partition, limited ones only full ones (IBTA 10.9.1.1).
[[nodiscard]] int choose_pkey(std::span<const std::uint16_t> table);

} // namespace verbena::verbs
