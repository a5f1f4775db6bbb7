/// @file
/// What each algorithm is predicted to take: the critical path in Hockney's model. Pure functions, in ns.
#pragma once

#include <cstdint>

#include "coll/selection.hpp"

namespace verbena::coll {

/// Takes ranks and the bytes of a rank's longer buffer.
using Cost = double(const CostModel&, std::uint32_t ranks, double bytes);

Cost dissemination_cost;
Cost ring_all_reduce_cost;
Cost recursive_doubling_all_reduce_cost;
Cost rabenseifner_cost;
Cost binomial_broadcast_cost;
Cost scatter_all_gather_cost;
Cost binomial_reduce_cost;
Cost ring_reduce_scatter_cost;
Cost recursive_halving_cost;
Cost ring_all_gather_cost;
Cost doubling_all_gather_cost; ///< recursive doubling and Bruck
Cost linear_cost;              ///< gather and scatter
Cost binomial_blocks_cost;     ///< gather and scatter
Cost pairwise_cost;
Cost bruck_all_to_all_cost;
Cost double_tree_cost; ///< broadcast
Cost double_tree_reduce_cost;
Cost double_tree_all_reduce_cost;
Cost doubling_scan_cost;
Cost chain_scan_cost;

} // namespace verbena::coll
