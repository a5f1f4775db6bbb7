/// @file
/// A backend is a kind of NIC: it finds devices and opens them. The registry is the one place that knows which exist.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <verbena/device.hpp>

#include "wire/device.hpp"

namespace verbena {
class Settings;
}

namespace verbena::wire {

class Backend {
  public:
    virtual ~Backend() = default;

    [[nodiscard]] virtual std::string_view name() const = 0;

    /// Usable or not on this machine, and which link of the chain is missing. Never throws.
    [[nodiscard]] virtual BackendInfo probe() const = 0;

    /// Every device, broken ones with their problem. Never throws.
    [[nodiscard]] virtual std::vector<DeviceInfo> enumerate() const = 0;

    /// Candidates by this backend's rule, best first; what it passes over goes to `rejected` with the reason. `devices`
    /// are this backend's. Settings `device`, `port`, `gid-index` narrow the choice; a forced choice that looks wrong
    /// carries a warning. A pure function: fixtures test it.
    [[nodiscard]] virtual std::vector<Selection> candidates(std::span<const DeviceInfo> devices,
                                                            const Settings& settings,
                                                            std::vector<Rejection>& rejected) const = 0;

    /// Opens what was selected. @throws Error
    [[nodiscard]] virtual std::unique_ptr<Device> open(const Selection& selection, const Settings& settings) const = 0;
};

/// The backends of this build, in order of preference (set in the top-level build; see lib/api/backends.cpp.in).
[[nodiscard]] std::span<const Backend* const> backends();

/// Backends this build leaves out, with the reason.
[[nodiscard]] std::span<const BackendInfo> absent_backends();

/// @throws Error (invalid_argument) listing the names there are, or (unavailable) with the reason of an absent one.
[[nodiscard]] const Backend& backend(std::string_view name);

/// Called once, before the first backends(), by the generated table.
void set_backends(std::vector<const Backend*> present, std::vector<BackendInfo> absent);

} // namespace verbena::wire
