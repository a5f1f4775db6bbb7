/// @file
/// Between a program and an RDMA device stand: the kernel module, the device, its character device, the right to open
/// it, and a user-space provider that speaks the kernel's ABI. This names the first missing link, in one sentence that
/// is the same whoever asks.
#pragma once

#include <string>

#include "verbs/sysfs.hpp"

namespace verbena::verbs {

/// What the user-space library makes of the kernel's devices.
struct LibraryView {
    bool lists_device = false;      ///< ibv_get_device_list() gave it
    std::string provider_directory; ///< where providers are installed; empty: unknown
};

/// Why there are no devices at all; empty when sysfs has some.
[[nodiscard]] std::string missing_class(const Roots& roots);

/// Why `device`, which sysfs has, cannot be opened; empty when nothing speaks against it.
[[nodiscard]] std::string missing_link(const Roots& roots, const DeviceInfo& device, const LibraryView& library);

} // namespace verbena::verbs
