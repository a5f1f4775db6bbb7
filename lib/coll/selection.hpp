/// @file
/// Which algorithm a collective takes, and why: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <verbena/group.hpp>

#include "coll/algorithms.hpp"

namespace verbena::coll {

/// Hockney's model: a message of n bytes takes latency + n / bandwidth, and reducing or copying n bytes takes n over
/// the rate of that. Round figures of a 100 Gb/s RoCE network and one core; what matters is their ratio.
struct CostModel {
    double latency_ns = 3000;
    double transfer_ns_per_byte = 0.09;  ///< about 11 GB/s
    double reduction_ns_per_byte = 0.10; ///< about 10 GB/s
    double copy_ns_per_byte = 0.10;
};

/// A way to do a collective that can be asked for by name. `bytes` is always the longer buffer of a rank: the ranks'
/// blocks together where each has one.
struct Algorithm {
    /// What one hop carries, and segments cut.
    enum class Hop : std::uint8_t { whole, block };

    Collective collective;
    std::string_view name;
    RankPlan (*plan)(const Shape&);
    double (*cost_ns)(const CostModel&, std::uint32_t ranks, double bytes);
    Hop hop = Hop::block;
    bool needs_power_of_two = false;

    [[nodiscard]] bool can_run(std::uint32_t ranks) const noexcept;
};

/// All of them; those of one collective follow each other.
[[nodiscard]] std::span<const Algorithm> algorithms() noexcept;
[[nodiscard]] std::vector<std::string> algorithm_names(Collective collective);

/// @throws Error (invalid_argument) that lists the names, or says how many ranks the algorithm needs.
[[nodiscard]] const Algorithm& algorithm_named(Collective collective, std::string_view name, std::uint32_t ranks);
/// The one with the lowest predicted cost.
[[nodiscard]] const Algorithm& cheapest(Collective collective, std::uint32_t ranks, std::uint64_t bytes,
                                        const CostModel& model = {});
/// The same, with the predicted costs of all candidates as the reason.
[[nodiscard]] AlgorithmChoice select(Collective collective, std::uint32_t ranks, std::uint64_t bytes,
                                     const CostModel& model = {});

/// Upper bound on one message of a collective whose hops carry `bytes` / `parts`, in bytes: long enough to fill a link,
/// short enough that reducing one hides behind the transfer of the next, and at most 16 messages a hop.
[[nodiscard]] std::uint64_t segment_bytes(std::uint32_t parts, std::uint64_t bytes) noexcept;
[[nodiscard]] std::uint64_t segment_bytes(const Algorithm& algorithm, std::uint32_t ranks,
                                          std::uint64_t bytes) noexcept;

} // namespace verbena::coll
