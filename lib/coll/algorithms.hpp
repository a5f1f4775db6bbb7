/// @file
/// The algorithms: pure functions from a rank's place in a group to what it does. Each makes one rank's part, so that a
/// rank of thousands does not build the others'.
#pragma once

#include <cstdint>

#include "coll/plan.hpp"

namespace verbena::coll {

/// What an algorithm is told.
struct Shape {
    std::uint32_t rank = 0;
    std::uint32_t ranks = 1;
    std::uint64_t count = 0;   ///< elements
    std::uint64_t segment = 0; ///< upper bound on the elements of one message, for pipelining; 0: none
};

/// Reduce-scatter, then all-gather, round a ring: 2 (ranks - 1) hops, each of count / ranks elements, cut into messages
/// of at most `segment` elements so that one is reduced while the next is on its way. Moves the fewest bytes.
[[nodiscard]] RankPlan ring_all_reduce(const Shape& shape);

/// Pairs at distance 1, 2, 4, ... exchange all they have: log2(ranks) hops of `count` elements. The ranks beyond a
/// power of two hand their input to a neighbour first and get the result last. Fewest hops. `segment` is not used.
[[nodiscard]] RankPlan recursive_doubling_all_reduce(const Shape& shape);

/// In round k every rank tells the one 2^k further on that it, and all it has heard of, have come (Hensgen, Finkel and
/// Manber, 1988). Empty messages; `count` is not used.
[[nodiscard]] RankPlan dissemination_barrier(const Shape& shape);

/// What is left of an all-reduce when there is one rank.
[[nodiscard]] RankPlan copy_alone(const Shape& shape);

/// Every rank's part, for checking and printing. `shape.rank` is not used.
[[nodiscard]] Plan whole_plan(RankPlan (*algorithm)(const Shape&), Shape shape);

} // namespace verbena::coll
