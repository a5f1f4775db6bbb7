/// @file
/// The rules of a plan that can be read off it without running it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "coll/interpreter.hpp"

namespace verbena::coll {

/// The first step that names a rank, step or range which is not there, writes to the input, does not match its other
/// end, or races with another step of its rank.
[[nodiscard]] std::optional<Fault> broken_rule(const Plan& plan, Collective collective, bool in_place);

/// A fault whose sentence begins with the place: "rank 2, step 5 (send ...): " and then `what`.
[[nodiscard]] Fault fault_at(const Plan& plan, std::uint32_t rank, std::uint32_t step, const std::string& what);

} // namespace verbena::coll
