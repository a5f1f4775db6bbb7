#pragma once

#include <memory>

#include <verbena/device.hpp>
#include <verbena/settings.hpp>

#include "wire/device.hpp"

namespace verbena::ofi {

/// Opens fabric and domain of one provider. @throws Error
[[nodiscard]] std::unique_ptr<wire::Device> open_device(const DeviceInfo& device, const Settings& settings);

} // namespace verbena::ofi
