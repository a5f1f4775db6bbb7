/// @file
/// Times an algorithm's real plans over a topology, in virtual time: a discrete-event simulation with contention on
/// every link. A pure function; no randomness.
#pragma once

#include <cstdint>
#include <string>

#include "coll/selection.hpp"
#include "coll/topology.hpp"

namespace verbena::coll {

struct SimulationLimits {
    std::uint64_t messages = 150'000'000; ///< of one run; more, or four times as many steps, are not simulated
    std::uint64_t steps = 60'000'000;     ///< that are kept at once; ranks that do the same share theirs
};

struct Simulated {
    bool has_run = false;
    std::string reason; ///< why not
    double nanoseconds = 0;
    std::uint64_t messages = 0;
    std::uint64_t events = 0;
};

/// Blocks or buffer of `count` elements as in Shape. A message occupies, at once, every link that it passes, each for
/// gap + bytes / rate, from when the last of them is free; it arrives after that and its level's latency. Sends do not
/// wait for their receives. A rank reduces or copies one thing at a time.
[[nodiscard]] Simulated simulate(const Algorithm& algorithm, std::uint32_t ranks, std::uint64_t count,
                                 std::uint32_t element_bytes, const Topology& topology,
                                 const SimulationLimits& limits = {});

/// No algorithm is faster: the longer of one latency to the farthest rank, and of what must cross the
/// links of some group at its full rate. `bytes` of a rank's longer buffer.
[[nodiscard]] double lower_bound_ns(Collective collective, std::uint32_t ranks, double bytes, const Topology& topology);

} // namespace verbena::coll
