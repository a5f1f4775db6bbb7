#pragma once

#include <span>
#include <vector>

#include <verbena/device.hpp>
#include <verbena/settings.hpp>

namespace verbena::ofi {

/// The rule of Backend::candidates(): shm when every rank is on this host, then tcp. The setting `device` forces one.
[[nodiscard]] std::vector<Selection> choose_devices(std::span<const DeviceInfo> devices, const Settings& settings,
                                                    std::vector<Rejection>& rejected);

} // namespace verbena::ofi
