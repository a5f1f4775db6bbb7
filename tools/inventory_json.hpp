/// @file
/// The library's values as JSON, the form from which `info` prints both JSON and text.
#pragma once

#include <verbena/device.hpp>
#include <verbena/settings.hpp>

#include "output.hpp"

namespace verbena::tools {

[[nodiscard]] Json to_json(const Inventory& inventory);
[[nodiscard]] Json to_json(const Selection& selection);
/// A secret is shown as "(hidden)", never by value.
[[nodiscard]] Json to_json(const Settings& settings);

} // namespace verbena::tools
