/// @file
/// Which algorithm a collective takes, and why: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <verbena/group.hpp>

#include "coll/algorithms.hpp"

namespace verbena::coll {

/// Hockney's model: a message of n bytes takes latency + n / bandwidth, and reducing n bytes takes n / reduction. Round
/// figures of a 100 Gb/s RoCE network and one core; what matters is their ratio.
struct CostModel {
    double latency_ns = 3000;
    double transfer_ns_per_byte = 0.09;  ///< about 11 GB/s
    double reduction_ns_per_byte = 0.10; ///< about 10 GB/s
};

/// An all-reduce that can be asked for by name.
struct Algorithm {
    std::string_view name;
    RankPlan (*plan)(const Shape&);
    double (*cost_ns)(const CostModel&, std::uint32_t ranks, double bytes);
};

/// @throws Error (invalid_argument) that lists the names.
[[nodiscard]] const Algorithm& all_reduce_named(std::string_view name);
/// The one with the lowest predicted cost.
[[nodiscard]] const Algorithm& cheapest_all_reduce(std::uint32_t ranks, std::uint64_t bytes,
                                                   const CostModel& model = {});

/// The choice for `bytes` of data on each of `ranks` ranks, with the predicted costs of all candidates as the reason.
[[nodiscard]] AlgorithmChoice select_all_reduce(std::uint32_t ranks, std::uint64_t bytes, const CostModel& model = {});

[[nodiscard]] std::vector<std::string> all_reduce_algorithms();

/// Upper bound on one message of a collective, in bytes: long enough to fill a link, short enough that reducing one
/// hides behind the transfer of the next, and at most 16 messages a hop.
[[nodiscard]] std::uint64_t segment_bytes(std::uint32_t ranks, std::uint64_t bytes) noexcept;

} // namespace verbena::coll
