/// @file
/// A cost model as `verbena tune` measures and writes it: docs/cost-model.md.
#pragma once

#include <string>
#include <string_view>

#include "coll/selection.hpp"

namespace verbena::coll {

/// @throws Error (invalid_argument) that names the key which is wrong
[[nodiscard]] CostModel read_cost_model(std::string_view text);
/// From the file of that name; the built-in values for an empty one. @throws Error also where it cannot be read
[[nodiscard]] CostModel cost_model_from(const std::string& path);

} // namespace verbena::coll
