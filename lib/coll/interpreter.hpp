/// @file
/// Proves a plan before anything runs it: right result, no deadlock, nothing undefined read, no two steps in each
/// other's way.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <verbena/group.hpp>

#include "coll/algorithms.hpp"
#include "coll/contents.hpp"

namespace verbena::coll {

/// What a rank's output must hold in the end. Of a barrier nothing, but no rank may be done before it has heard,
/// directly or through others, from every rank.
/// `matrix`: Plan::counts of an all-to-all with counts.
[[nodiscard]] Segments result_of(Collective collective, const Shape& shape, std::span<const std::uint64_t> matrix = {});

/// The first thing wrong with a plan.
struct Fault {
    std::uint32_t rank = 0;
    std::uint32_t step = no_step; ///< no_step: the rank's part as a whole
    std::string sentence;         ///< "rank 2, step 5 (send output [0, 4) to rank 3): ..."
};

/// Nothing when the plan ends with the collective's result on every rank, each contribution in it exactly once, in
/// place (where that is allowed) and not in place, with:
///   - every range within its buffer, no write to input, sends and receives matching in number and size per pair;
///   - any two steps of a rank that touch the same elements, one of them writing, ordered through `after`;
///   - no deadlock even if a message leaves only when its receive has started and the one before it has left. Every
///     receive window from 1 up, and every way of sending, asks for less than that.
[[nodiscard]] std::optional<Fault> find_fault(const Plan& plan, Collective collective);

} // namespace verbena::coll
