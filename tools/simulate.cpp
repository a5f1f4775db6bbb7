#include "simulate.hpp"

#include <utility>

#include <fmt/format.h>
#include <verbena/error.hpp>
#include <verbena/plan.hpp>

#include "notice.hpp"
#include "text_file.hpp"

namespace verbena::tools {

void simulate_collective(const SimulateOptions& options, Output& output) {
    const bool is_built_in = options.topology == "two-level" || options.topology == "fat-tree";
    const std::string topology = is_built_in ? options.topology : read_text_file(options.topology);
    bool is_first = true;
    for (const std::uint64_t bytes : options.sizes) {
        progress(fmt::format("simulating {} of {} bytes on {} ranks", name(options.collective), bytes, options.ranks));
        const Simulation simulation = simulate({.collective = options.collective,
                                                .ranks = options.ranks,
                                                .bytes = bytes,
                                                .topology = topology,
                                                .algorithm = options.algorithm});
        progress("");
        if (std::exchange(is_first, false)) {
            output.block({"parameters",
                          {word("operation", "operation", std::string(name(options.collective))),
                           whole("ranks", "ranks", options.ranks), word("topology", "topology", simulation.topology),
                           word("time", "time", "virtual, until the last rank is done")}});
        }
        for (const SimulatedAlgorithm& each : simulation.algorithms) {
            if (!each.reason.empty()) {
                notice(
                    fmt::format("{} of {} bytes is not simulated: {}", each.algorithm, simulation.bytes, each.reason));
                continue;
            }
            Record row{"simulated",
                       {whole("size_bytes", "bytes", simulation.bytes),
                        word("algorithm", "algorithm", each.algorithm, 18),
                        real("time_us", "time us", each.nanoseconds / 1000, 2),
                        real("bound_us", "bound us", each.bound_nanoseconds / 1000, 2)}};
            if (each.bound_nanoseconds > 0)
                row.fields.push_back(real("times_bound", "x bound", each.nanoseconds / each.bound_nanoseconds, 2));
            row.fields.push_back(whole("messages", "messages", each.messages));
            output.row(row);
        }
    }
}

} // namespace verbena::tools
