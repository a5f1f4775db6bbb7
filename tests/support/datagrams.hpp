/// @file
/// A reliable device over simulated datagrams, and time that passes also when nothing is on its way: timers wait for
/// it.
#pragma once

#include <memory>

#include "reliable/device.hpp"
#include "sim/fabric.hpp"

namespace verbena::testing {

inline std::unique_ptr<wire::Device> reliable_device(sim::Fabric& fabric, std::uint32_t rank, std::uint64_t seed,
                                                     reliable::Options options = {},
                                                     const sim::Personality& personality = sim::ud_like()) {
    options.clock = [&fabric] { return fabric.now(); };
    options.rank = rank;
    options.seed = seed * 1000 + rank;
    return std::make_unique<reliable::Device>(fabric.device({personality, {}}), options);
}

/// Executes the next event; without one, time passes to let timers run out.
inline void step_or_wait(sim::Fabric& fabric) {
    constexpr sim::Time pause_ns = 50'000;
    if (!fabric.step()) fabric.run_until(fabric.now() + pause_ns);
}

} // namespace verbena::testing
