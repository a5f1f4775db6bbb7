/// @file
/// A whole job in one thread: message engines on the simulated NIC, on virtual time and one seed.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

#include "datagrams.hpp"
#include "mem/space.hpp"
#include "msg/engine.hpp"
#include "sim/fabric.hpp"

namespace verbena::testing {

struct SimJob {
    sim::Fabric fabric;
    mem::Spaces spaces{"off"};
    std::vector<std::unique_ptr<wire::Device>> devices;
    std::vector<std::unique_ptr<msg::Engine>> engines;
    bool timers_above;

    SimJob(std::uint32_t ranks, std::uint64_t seed, const sim::Personality& personality,
           msg::EngineOptions options = {}, const sim::FabricOptions& fabric_options = {})
        : fabric(seed, fabric_options), timers_above(!personality.capabilities.reliable) {
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            options.rank = rank;
            options.size = ranks;
            devices.push_back(personality.capabilities.reliable ? fabric.device({personality, {}})
                                                                : reliable_device(fabric, rank, seed, {}, personality));
            engines.push_back(std::make_unique<msg::Engine>(*devices.back(), spaces, options));
        }
        for (std::uint32_t a = 0; a < ranks; ++a) {
            for (std::uint32_t b = 0; b < ranks; ++b) {
                if (a != b) engines[a]->connect(b, engines[b]->address_for(a));
            }
        }
    }

    /// A refusal that nobody provoked is a fault of the ledger: no test passes with one.
    ~SimJob() {
        const sim::Statistics& nic = fabric.statistics();
        if (nic.queue_full + nic.receive_queue_full == 0) return;
        std::fprintf(stderr, "%llu posts to a full send queue, %llu to a full receive queue\n",
                     static_cast<unsigned long long>(nic.queue_full),
                     static_cast<unsigned long long>(nic.receive_queue_full));
        std::abort();
    }
    SimJob(const SimJob&) = delete;
    SimJob& operator=(const SimJob&) = delete;

    /// The rank's device falls silent.
    void kill(std::uint32_t rank) {
        auto* const above = dynamic_cast<reliable::Device*>(devices[rank].get());
        fabric.kill(above != nullptr ? above->datagrams() : *devices[rank]);
    }

    msg::Engine& operator[](std::uint32_t rank) { return *engines[rank]; }

    void step() {
        for (const auto& engine : engines) {
            if (engine) engine->progress(); // a test may end one
        }
        // Time stands still while nothing is on its way, except for timers that run above the NIC.
        if (timers_above) {
            step_or_wait(fabric);
        } else {
            fabric.step();
        }
        if (after_step) after_step();
    }

    std::function<void()> after_step{}; ///< called at the end of every step

    /// False when `done` is still false after so many steps: something is stuck.
    bool run_until(const std::function<bool()>& done, std::uint64_t most_steps = 2'000'000) {
        for (std::uint64_t steps = 0; steps < most_steps; ++steps) {
            if (done()) return true;
            step();
        }
        return done();
    }

    bool run_until_complete(std::uint32_t rank, msg::OperationId id) {
        return run_until([&] { return engines[rank]->is_complete(id); });
    }
};

} // namespace verbena::testing
