/// @file
/// What the kernel says about RDMA devices in /sys/class/infiniband, without a library in between: it still answers
/// when the user-space side is broken, and that is when it is needed.
#pragma once

#include <string>
#include <vector>

#include <verbena/device.hpp>

namespace verbena::verbs {

/// Where to look. Tests point it at a fixture tree.
struct Roots {
    std::string sys = "/sys";
    std::string dev = "/dev";
};

/// The file's first line; empty when there is none or it cannot be read.
[[nodiscard]] std::string read_line(const std::string& path);

/// Device names, sorted; empty when the class is absent (see has_device_class()).
[[nodiscard]] std::vector<std::string> device_names(const Roots& roots);
[[nodiscard]] bool has_device_class(const Roots& roots);

/// The character device's name, "uverbs0"; empty while ib_uverbs is not loaded.
[[nodiscard]] std::string uverbs_name(const Roots& roots, const std::string& device);

/// Name, driver, firmware, ports with state and rate. Limits and MTUs are not in sysfs; GID tables are, but a table of
/// a thousand mostly empty files takes long to read: query_gids() asks the device.
[[nodiscard]] DeviceInfo read_device(const Roots& roots, const std::string& device);

/// The network interface behind one GID; empty where there is none.
[[nodiscard]] std::string gid_netdev(const Roots& roots, const std::string& device, int port, int index);

/// "1: CA", "4: RNIC" (iWARP), ...
[[nodiscard]] bool is_iwarp(const Roots& roots, const std::string& device);

} // namespace verbena::verbs
