/// @file
/// Settings from an environment given as a table: the pure part of Settings::from_environment().
#pragma once

#include <map>
#include <string>

#include <verbena/settings.hpp>

namespace verbena::boot {

using Environment = std::map<std::string, std::string>;

/// @throws Error as Settings::from_environment().
[[nodiscard]] Settings settings_from(const Environment& environment);

} // namespace verbena::boot
