/// @file
/// Every RDMA device of this machine, each with its limits, ports and GIDs or with the reason why it is of no use.
#pragma once

#include <string>
#include <vector>

#include <verbena/device.hpp>

#include "verbs/handles.hpp"
#include "verbs/sysfs.hpp"

namespace verbena::verbs {

struct Census {
    std::vector<DeviceInfo> devices;
    std::string missing_link; ///< why no device is usable; empty when one is
};

/// Never throws for what it finds. One device that cannot be opened hides no other. Thread-safe.
[[nodiscard]] Census take_census(const Roots& roots = {});

/// Opens by name. @throws Error (unavailable) with the missing link, or with the devices there are.
[[nodiscard]] Context open_context(const std::string& device, const Roots& roots = {});

/// The used entries of an open device's GID table, with interface and whether it is in this network namespace.
[[nodiscard]] std::vector<GidInfo> query_gids(ibv_context& context, int port, const Roots& roots = {});

/// Bytes of an ibv_mtu code.
[[nodiscard]] constexpr unsigned mtu_bytes(unsigned code) noexcept { return code >= 1 && code <= 5 ? 128u << code : 0; }

} // namespace verbena::verbs
