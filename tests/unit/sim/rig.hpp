/// @file
/// Two simulated devices with a connected queue pair each: the bench of the conformance suite on a fabric that the case
/// may tune.
#pragma once

#include "../../conformance/link.hpp"
#include "sim/fabric.hpp"

namespace verbena::sim {

struct RigOptions {
    Personality personality = mlx5_like();
    FabricOptions fabric{};
    wire::QueuePairOptions queue_pair = conformance::Link::small_queues();
    std::uint64_t seed = 1;
};

struct Rig {
    explicit Rig(const RigOptions& options = {})
        : fabric(options.seed, options.fabric),
          pair{[this] { fabric.step(); },
               fabric.device({options.personality, {}}),
               fabric.device({options.personality, {}}),
               {}},
          link(pair, options.queue_pair) {}

    /// Everything that is on its way arrives, then both ends are polled.
    void settle() {
        fabric.run_until_idle();
        link.a.poll();
        link.b.poll();
    }

    Fabric fabric;
    conformance::Pair pair;
    conformance::Link link;
};

} // namespace verbena::sim
