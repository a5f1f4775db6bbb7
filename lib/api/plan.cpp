#include <verbena/plan.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <verbena/error.hpp>

#include "coll/extent.hpp"
#include "coll/plan_file.hpp"
#include "coll/selection.hpp"
#include "coll/simulation.hpp"
#include "coll/topology.hpp"

namespace verbena {

std::string plan_text(Collective collective, std::uint32_t ranks, std::size_t count, std::size_t element_bytes,
                      std::uint32_t root, std::string_view algorithm, std::string_view name) {
    if (coll::takes_counts(collective) || ranks == 0 || root >= ranks || element_bytes == 0) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("no plan of {} on {} ranks with root {}", verbena::name(collective), ranks, root));
    }
    const std::uint64_t bytes = count * element_bytes * (coll::has_blocks(collective) ? ranks : 1);
    const coll::Algorithm& chosen = algorithm.empty() ? coll::cheapest(collective, ranks, bytes)
                                                      : coll::algorithm_named(collective, algorithm, ranks);
    const std::uint64_t segment = coll::segment_bytes(chosen, ranks, bytes) / element_bytes;
    return coll::write_plan(
        {std::string(name), collective, coll::whole_plan(chosen.plan, {0, ranks, count, segment, root}), 0});
}

Simulation simulate(const SimulationOptions& options) {
    if (options.ranks == 0 || options.ranks > 1 << 20)
        throw Error(ErrorCode::invalid_argument, fmt::format("{} ranks cannot be simulated", options.ranks));
    if (coll::takes_counts(options.collective)) {
        throw Error(ErrorCode::invalid_argument, fmt::format("{} is not simulated", name(options.collective)),
                    "simulate the operation of equal blocks");
    }
    const coll::Topology topology = coll::topology_of(options.topology);
    // Whole blocks of 4-byte elements, as many for each rank, so that ranks of a ring do the same.
    constexpr std::uint32_t element_bytes = 4;
    const std::uint64_t per_rank = std::uint64_t{element_bytes} * options.ranks;
    const bool rounds = coll::has_blocks(options.collective) || options.bytes >= per_rank;
    const std::uint64_t unit = rounds ? per_rank : element_bytes;
    Simulation simulation;
    simulation.topology = topology.name;
    simulation.bytes = options.collective == Collective::barrier
                           ? 0
                           : (std::max<std::uint64_t>(options.bytes, 1) + unit - 1) / unit * unit;
    const std::uint64_t count =
        simulation.bytes / element_bytes / (coll::has_blocks(options.collective) ? options.ranks : 1);
    if (!options.algorithm.empty()) (void)coll::algorithm_named(options.collective, options.algorithm, options.ranks);
    coll::SimulationLimits limits;
    limits.messages = options.max_messages;
    for (const coll::Algorithm& each : coll::algorithms()) {
        if (each.collective != options.collective) continue;
        if (!options.algorithm.empty() && each.name != options.algorithm) continue;
        const coll::Simulated run = coll::simulate(each, options.ranks, count, element_bytes, topology, limits);
        simulation.algorithms.push_back(
            {std::string(each.name), run.has_run ? std::string() : run.reason, run.nanoseconds,
             coll::lower_bound_ns(each.collective, options.ranks, static_cast<double>(simulation.bytes), topology),
             run.messages});
    }
    return simulation;
}

} // namespace verbena
