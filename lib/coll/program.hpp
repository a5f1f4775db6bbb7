/// @file
/// A rank's plan as a simulation of thousands of ranks keeps it: some tens of bytes a step, and one for all ranks where
/// they do the same.
#pragma once

#include <cstdint>
#include <vector>

#include "coll/schedule.hpp"

namespace verbena::coll {

/// Immutable once made.
struct Program {
    struct Step {
        StepKind kind = StepKind::copy;
        std::uint32_t peer = 0; ///< counted from the rank itself on, round the group
        std::uint32_t waits = 0;
        std::uint32_t follower = no_step;
        std::uint32_t number = 0; ///< of the message
        std::uint32_t first_dependent = 0;
        std::uint64_t count = 0; ///< elements sent, received, copied or reduced
        friend bool operator==(const Step&, const Step&) = default;
    };
    std::vector<Step> steps;
    std::vector<std::uint32_t> dependents;

    friend bool operator==(const Program&, const Program&) = default;
};

[[nodiscard]] Program program_of(RankPlan plan, std::uint32_t rank, std::uint32_t ranks);

} // namespace verbena::coll
