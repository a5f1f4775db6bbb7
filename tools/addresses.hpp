/// @file
/// The address by which another machine would call this one.
#pragma once

#include <string>

namespace verbena {
class Settings;
}

namespace verbena::tools {

/// The setting `advertise`, else `bind`, else the first address of an interface that is up (of `interface` where that
/// is set): IPv4 before IPv6, never link-local, loopback only where there is nothing else. The host name is not asked:
/// in containers it often means 127.0.1.1.
[[nodiscard]] std::string reachable_address(const Settings& settings);

} // namespace verbena::tools
