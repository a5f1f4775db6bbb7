/// @file
/// What a simulated network looks like: levels of groups of ranks, each with its links. Values;
/// docs/topology-format.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace verbena::coll {

/// Ranks that follow each other make up a group. Between two ranks of one group, and of none below, a message passes
/// the links of the groups below it: out of the sender's, into the receiver's.
struct Level {
    std::string name;
    std::uint32_t ranks = 0;         ///< of a group; 0: all
    double latency_ns = 0;           ///< of a message that goes no further up
    double gap_ns = 0;               ///< a message keeps a link for so long beyond its bytes
    double gigabytes_per_second = 1; ///< of one link
    std::uint32_t links = 1;         ///< in each direction from a group of the level below (a rank, below the first)
};

struct Topology {
    std::string name;
    std::vector<Level> levels; ///< from the nearest up
    double reduction_ns_per_byte = 0.10;
    double copy_ns_per_byte = 0.05;
};

/// "two-level", "fat-tree", or the text of a file. @throws Error (invalid_argument) that says what is wrong with it
[[nodiscard]] Topology topology_of(std::string_view text);

} // namespace verbena::coll
