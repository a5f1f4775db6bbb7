/// @file
/// The algorithms: pure functions from a rank's place in a group to what it does. Each makes one rank's part, so that a
/// rank of thousands does not build the others'.
#pragma once

#include <cstdint>
#include <span>

#include "coll/plan.hpp"

namespace verbena::coll {

/// What an algorithm is told.
struct Shape {
    std::uint32_t rank = 0;
    std::uint32_t ranks = 1;
    std::uint64_t count = 0;   ///< elements; of a block where each rank has one (extent.hpp)
    std::uint64_t segment = 0; ///< upper bound on the elements of one message, for pipelining; 0: none
    std::uint32_t root = 0;    ///< of a collective that has one
    /// By rank, elements of its block, where blocks differ in length (takes_counts()); `count` is not used then. Of an
    /// all-to-all: of the blocks that this rank sends. Empty: `count` each. Borrowed for the call.
    std::span<const std::uint64_t> counts{};
    std::span<const std::uint64_t> receives{}; ///< all-to-all with counts: of the blocks that this rank receives
};

/// Reduce-scatter, then all-gather, round a ring: 2 (ranks - 1) hops, each of count / ranks elements, cut into messages
/// of at most `segment` elements so that one is reduced while the next is on its way. Moves the fewest bytes.
[[nodiscard]] RankPlan ring_all_reduce(const Shape& shape);

/// Pairs at distance 1, 2, 4, ... exchange all they have: log2(ranks) hops of `count` elements. The ranks beyond a
/// power of two hand their input to a neighbour first and get the result last. Fewest hops. `segment` is not used.
[[nodiscard]] RankPlan recursive_doubling_all_reduce(const Shape& shape);

/// Halves: pairs at distance ranks / 2, ..., 1 exchange the half of their range that the other keeps, and reduce. Then
/// doubles: the same pairs, the other way, exchange what they hold (Rabenseifner, 2004). 2 log2(ranks) hops and the
/// ring's bytes; ranks beyond a power of two as in recursive doubling. `segment` is not used.
[[nodiscard]] RankPlan rabenseifner_all_reduce(const Shape& shape);

/// Down a binomial tree, each hop carrying all of it in segments.
[[nodiscard]] RankPlan binomial_broadcast(const Shape& shape);

/// Scatters parts down a binomial tree and gathers them round a ring: twice the bytes of the buffer past each rank
/// instead of log2(ranks) times. What the tree left at a place does not come again. `segment` is not used.
[[nodiscard]] RankPlan scatter_all_gather_broadcast(const Shape& shape);

/// Up a binomial tree, each hop carrying all of it in segments: one is reduced while the next is on its way.
[[nodiscard]] RankPlan binomial_reduce(const Shape& shape);

/// ranks - 1 hops of a block, in segments.
[[nodiscard]] RankPlan ring_reduce_scatter(const Shape& shape);

/// log2(ranks) hops of ranks / 2, ..., 1 blocks. For powers of two. `segment` is not used.
[[nodiscard]] RankPlan recursive_halving_reduce_scatter(const Shape& shape);

/// ranks - 1 hops of a block, in segments.
[[nodiscard]] RankPlan ring_all_gather(const Shape& shape);

/// Pairs at distance 1, 2, 4, ... exchange all they have. For powers of two. `segment` is not used.
[[nodiscard]] RankPlan recursive_doubling_all_gather(const Shape& shape);

/// In round k every rank sends what it has to the one 2^k before it (Bruck and others, 1997), for any number of ranks.
/// Blocks lie in the output from the start: a row that wraps round its end takes two messages, and nothing is rotated.
/// `segment` is not used.
[[nodiscard]] RankPlan bruck_all_gather(const Shape& shape);

/// Each rank and the root, directly; or subtrees along a binomial tree. `segment` is not used.
[[nodiscard]] RankPlan linear_gather(const Shape& shape);
[[nodiscard]] RankPlan binomial_gather(const Shape& shape);
[[nodiscard]] RankPlan linear_scatter(const Shape& shape);
[[nodiscard]] RankPlan binomial_scatter(const Shape& shape);

/// In round k every rank sends to the one k further on and receives from the one k before. `segment` is not used.
[[nodiscard]] RankPlan pairwise_all_to_all(const Shape& shape);

/// In round k every rank sends, in one message, the blocks that have a way with bit k before them (Bruck and others,
/// 1997): log2(ranks) messages, and a block travels up to as many times. `segment` is not used.
[[nodiscard]] RankPlan bruck_all_to_all(const Shape& shape);

/// Two binary trees at once, each with half of the buffer in segments; an inner place of one is a leaf of the other, so
/// a rank sends and receives each byte about once.
[[nodiscard]] RankPlan double_tree_broadcast(const Shape& shape);
[[nodiscard]] RankPlan double_tree_reduce(const Shape& shape);
/// Up both trees, then down.
[[nodiscard]] RankPlan double_tree_all_reduce(const Shape& shape);

/// log2(ranks) hops of all of it; the row of ranks that a value stands for doubles with each. `segment` is not used.
[[nodiscard]] RankPlan doubling_scan(const Shape& shape);
[[nodiscard]] RankPlan doubling_exclusive_scan(const Shape& shape);
/// From rank to rank, in segments.
[[nodiscard]] RankPlan chain_scan(const Shape& shape);

/// In round k every rank tells the one 2^k further on that it, and all it has heard of, have come (Hensgen, Finkel and
/// Manber, 1988). Empty messages; `count` is not used.
[[nodiscard]] RankPlan dissemination_barrier(const Shape& shape);

/// What is left of any of them when there is one rank.
[[nodiscard]] RankPlan copy_alone(const Shape& shape);

/// Every rank's part, for checking and printing. `shape.rank` is not used. `counts` as in Plan.
[[nodiscard]] Plan whole_plan(RankPlan (*algorithm)(const Shape&), Shape shape, std::vector<std::uint64_t> counts = {});

} // namespace verbena::coll
