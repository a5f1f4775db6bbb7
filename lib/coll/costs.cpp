#include "coll/costs.hpp"

#include <algorithm>
#include <bit>

namespace verbena::coll {
namespace {

/// Hops after which everyone can have heard of a rank.
double doublings(std::uint32_t ranks) { return std::bit_width(ranks - 1); }

/// The bytes of every rank's block but one.
double others(std::uint32_t ranks, double bytes) { return bytes * (ranks - 1) / ranks; }

double message(const CostModel& model, double bytes) { return model.latency_ns + bytes * model.transfer_ns_per_byte; }

/// What is seen of reducing `bytes` that come in segments: the last one; the others hide behind transfers.
double last_reduction(const CostModel& model, std::uint32_t parts, double bytes) {
    const auto segment = static_cast<double>(segment_bytes(parts, static_cast<std::uint64_t>(bytes)));
    return std::min(bytes / parts, segment) * model.reduction_ns_per_byte;
}

/// The ranks beyond a power of two hand everything in and get the result back.
double folding(const CostModel& model, std::uint32_t ranks, double bytes) {
    if (std::has_single_bit(ranks)) return 0;
    return 2 * message(model, bytes) + bytes * model.reduction_ns_per_byte;
}

} // namespace

double dissemination_cost(const CostModel& model, std::uint32_t ranks, double) {
    return doublings(ranks) * model.latency_ns;
}

double ring_all_reduce_cost(const CostModel& model, std::uint32_t ranks, double bytes) {
    return ring_reduce_scatter_cost(model, ranks, bytes) + ring_all_gather_cost(model, ranks, bytes);
}

double recursive_doubling_all_reduce_cost(const CostModel& model, std::uint32_t ranks, double bytes) {
    const double exchange = message(model, bytes) + bytes * model.reduction_ns_per_byte;
    return doublings(std::bit_floor(ranks)) * exchange + folding(model, ranks, bytes);
}

double rabenseifner_cost(const CostModel& model, std::uint32_t ranks, double bytes) {
    const std::uint32_t power = std::bit_floor(ranks);
    const double moved = others(power, bytes);
    return 2 * doublings(power) * model.latency_ns + 2 * moved * model.transfer_ns_per_byte +
           moved * model.reduction_ns_per_byte + folding(model, ranks, bytes);
}

/// The root's link carries a copy for each of its children.
double binomial_broadcast_cost(const CostModel& model, std::uint32_t ranks, double bytes) {
    return doublings(ranks) * message(model, bytes);
}

double scatter_all_gather_cost(const CostModel& model, std::uint32_t ranks, double bytes) {
    return (doublings(ranks) + ranks - 1) * model.latency_ns + 2 * others(ranks, bytes) * model.transfer_ns_per_byte;
}

double binomial_reduce_cost(const CostModel& model, std::uint32_t ranks, double bytes) {
    return doublings(ranks) * (message(model, bytes) + last_reduction(model, 1, bytes));
}

double ring_reduce_scatter_cost(const CostModel& model, std::uint32_t ranks, double bytes) {
    return (ranks - 1.0) * (message(model, bytes / ranks) + last_reduction(model, ranks, bytes));
}

double recursive_halving_cost(const CostModel& model, std::uint32_t ranks, double bytes) {
    return doublings(ranks) * model.latency_ns +
           others(ranks, bytes) * (model.transfer_ns_per_byte + model.reduction_ns_per_byte);
}

double ring_all_gather_cost(const CostModel& model, std::uint32_t ranks, double bytes) {
    return (ranks - 1.0) * message(model, bytes / ranks);
}

/// Our own block is copied before it is sent on with others; the ring copies it while messages move.
double doubling_all_gather_cost(const CostModel& model, std::uint32_t ranks, double bytes) {
    return doublings(ranks) * model.latency_ns + others(ranks, bytes) * model.transfer_ns_per_byte +
           bytes / ranks * model.copy_ns_per_byte;
}

double linear_cost(const CostModel& model, std::uint32_t ranks, double bytes) {
    return (ranks - 1.0) * message(model, bytes / ranks);
}

/// Blocks pass through scratch on the way, one of them between its arrival and its use.
double binomial_blocks_cost(const CostModel& model, std::uint32_t ranks, double bytes) {
    return doublings(ranks) * model.latency_ns + others(ranks, bytes) * model.transfer_ns_per_byte +
           bytes / ranks * model.copy_ns_per_byte;
}

double pairwise_cost(const CostModel& model, std::uint32_t ranks, double bytes) {
    return (ranks - 1.0) * message(model, bytes / ranks);
}

/// Half of the blocks go in each round, packed and unpacked by copies.
double bruck_all_to_all_cost(const CostModel& model, std::uint32_t ranks, double bytes) {
    return doublings(ranks) * message(model, bytes / 2) + (doublings(ranks) / 2 + 1) * bytes * model.copy_ns_per_byte;
}

/// Down to the deepest leaf a segment at each of two children, then the rest of both halves behind it.
double double_tree_cost(const CostModel& model, std::uint32_t ranks, double bytes) {
    if (ranks < 3) return binomial_broadcast_cost(model, ranks, bytes);
    const auto segment = static_cast<double>(segment_bytes(1, static_cast<std::uint64_t>(bytes)));
    return 2 * (doublings(ranks) - 1) * message(model, std::min(bytes / 2, segment)) + message(model, bytes);
}

double double_tree_reduce_cost(const CostModel& model, std::uint32_t ranks, double bytes) {
    return double_tree_cost(model, ranks, bytes) + doublings(ranks) * last_reduction(model, 1, bytes);
}

double double_tree_all_reduce_cost(const CostModel& model, std::uint32_t ranks, double bytes) {
    return double_tree_cost(model, ranks, bytes) + double_tree_reduce_cost(model, ranks, bytes);
}

double doubling_scan_cost(const CostModel& model, std::uint32_t ranks, double bytes) {
    return doublings(ranks) * (message(model, bytes) + bytes * model.reduction_ns_per_byte);
}

double chain_scan_cost(const CostModel& model, std::uint32_t ranks, double bytes) {
    const auto segment = static_cast<double>(segment_bytes(1, static_cast<std::uint64_t>(bytes)));
    const double piece = std::min(bytes, segment);
    return (ranks - 1.0) * (message(model, piece) + piece * model.reduction_ns_per_byte) +
           (bytes - piece) * model.transfer_ns_per_byte;
}

} // namespace verbena::coll
