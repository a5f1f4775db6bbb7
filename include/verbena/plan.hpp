/// @file
/// Plans of collectives outside of a job: written as text, and timed over networks that are not there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <verbena/export.hpp>
#include <verbena/group.hpp>

namespace verbena {

/// The plan of one algorithm as text (docs/plan-format.md), every rank's part of it, for `count` elements as Group's
/// calls count them. Empty `algorithm`: the choice for elements of `element_bytes`.
/// @throws Error (invalid_argument) for an unknown algorithm, a root that is not there, an operation that takes lists.
[[nodiscard]] VERBENA_API std::string plan_text(Collective collective, std::uint32_t ranks, std::size_t count,
                                                std::size_t element_bytes, std::uint32_t root = 0,
                                                std::string_view algorithm = {}, std::string_view name = "mine");

struct SimulationOptions {
    Collective collective = Collective::all_reduce;
    std::uint32_t ranks = 2;
    std::uint64_t bytes = 0;                  ///< of a rank's longer buffer
    std::string topology;                     ///< "two-level", "fat-tree", or a description (docs/topology-format.md)
    std::string algorithm;                    ///< empty: all of them
    std::uint64_t max_messages = 150'000'000; ///< an algorithm that sends more is passed over
};

struct SimulatedAlgorithm {
    std::string algorithm;
    std::string reason;           ///< why it was not simulated; empty when it was
    double nanoseconds = 0;       ///< until the last rank is done
    double bound_nanoseconds = 0; ///< what none can be below: latencies, and bytes over the narrowest links
    std::uint64_t messages = 0;
};

struct Simulation {
    std::string topology;
    std::uint64_t bytes = 0; ///< as simulated: a whole number of blocks for each rank
    std::vector<SimulatedAlgorithm> algorithms;
};

/// Runs the real plans in virtual time; needs no job. Takes memory by the messages on their way and, where ranks
/// differ, by all steps. @throws Error (invalid_argument)
[[nodiscard]] VERBENA_API Simulation simulate(const SimulationOptions& options);

} // namespace verbena
