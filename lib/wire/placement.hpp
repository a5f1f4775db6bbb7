#pragma once

#include <string>

namespace verbena {
class Settings;
}

namespace verbena::wire {

/// Where the ranks are, as far as the launcher said: what the rules for devices that reach one host only depend on.
struct Placement {
    bool all_here = false;
    std::string words; ///< "2 of 4 ranks are on this host"
};

[[nodiscard]] Placement placement_of(const Settings& settings);

/// Why such a device is passed over: "it reaches this host only, and 2 of 4 ranks are on this host".
[[nodiscard]] std::string reaches_this_host_only(const Placement& placement);

} // namespace verbena::wire
