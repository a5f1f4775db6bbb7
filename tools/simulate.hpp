/// @file
/// `verbena coll OPERATION --simulate`: the plans over a network that is not there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <verbena/group.hpp>

#include "output.hpp"

namespace verbena::tools {

struct SimulateOptions {
    Collective collective = Collective::all_reduce;
    std::uint32_t ranks = 0;
    std::vector<std::uint64_t> sizes; ///< bytes
    std::string topology;             ///< a name that is built in, or a file's
    std::string algorithm;
};

/// Prints a row for each size and algorithm. @throws Error
void simulate_collective(const SimulateOptions& options, Output& output);

} // namespace verbena::tools
