/// @file
/// Random traffic of a whole job on the simulated NIC, from one seed: every message must arrive once, whole, in order,
/// and nothing that the engine's accounting can prevent may happen to the NIC.
#pragma once

#include <cstdint>
#include <string>

#include "sim/fabric.hpp"

namespace verbena::soak {

/// What one seed, or many, did.
struct Totals {
    std::uint64_t seeds = 0;
    std::uint64_t messages = 0; ///< sent, received and compared
    std::uint64_t wrong = 0;    ///< lost, doubled, out of order or damaged
    std::uint64_t divergences = 0;
    sim::Statistics nic{};

    void add(const Totals& other) noexcept;
};

struct Outcome {
    Totals totals;
    std::string failure; ///< one sentence; empty where all is well
};

/// What a seed decides, as one line: "mlx5_like, 2 ranks, depth 17, window 3, ...".
[[nodiscard]] std::string describe(std::uint64_t seed);

/// Messages of one seed: long enough to pay for making its job.
inline constexpr std::uint64_t messages_of_a_seed = 20'000;

[[nodiscard]] Outcome run(std::uint64_t seed, std::uint64_t messages = messages_of_a_seed);

} // namespace verbena::soak
