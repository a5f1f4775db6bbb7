/// @file
/// Plans as text: docs/plan-format.md. What a user brings is proved before anything else is done with it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <verbena/group.hpp>

#include "coll/plan.hpp"

namespace verbena::coll {

/// A plan with what it is for. Good for any multiple of `plan.count` elements, all ranges multiplied alike.
struct NamedPlan {
    std::string name;
    Collective collective = Collective::barrier;
    Plan plan;
    std::uint32_t digest = 0; ///< of the steps: equal plans have equal ones
};

/// @throws Error (invalid_argument) that says where the text departs from the format, or which step of the plan is
/// wrong and why (find_fault()).
[[nodiscard]] NamedPlan read_plan(std::string_view text);
[[nodiscard]] std::string write_plan(const NamedPlan& plan);

/// One rank's part for `count` elements. @throws Error (invalid_argument) where that is no multiple of the plan's.
[[nodiscard]] RankPlan scaled(const NamedPlan& plan, std::uint32_t rank, std::uint64_t count);

} // namespace verbena::coll
