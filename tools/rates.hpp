/// @file
/// Rates from bytes and time. Decimal units, as networks are sold: 1 MB/s is 10^6 bytes a second.
#pragma once

#include <chrono>
#include <cstdint>

namespace verbena::tools {

using Seconds = std::chrono::duration<double>;
using Microseconds = std::chrono::duration<double, std::micro>;

[[nodiscard]] inline double megabytes_per_second(std::uint64_t bytes, Seconds time) {
    return static_cast<double>(bytes) / time.count() / 1e6;
}

[[nodiscard]] inline double gigabits_per_second(std::uint64_t bytes, Seconds time) {
    return static_cast<double>(bytes) * 8 / time.count() / 1e9;
}

[[nodiscard]] inline double messages_per_second(std::uint64_t messages, Seconds time) {
    return static_cast<double>(messages) / time.count();
}

/// Algorithm bandwidth of an all-reduce: bytes of one rank's input over the time.
[[nodiscard]] inline double algorithm_gigabytes_per_second(std::uint64_t bytes, Seconds time) {
    return static_cast<double>(bytes) / time.count() / 1e9;
}

/// What each rank's link must carry in an all-reduce of a given algorithm bandwidth: 2 (n-1)/n times as much, so that
/// numbers of different rank counts compare (nccl-tests, doc/PERFORMANCE.md). 0 for one rank: nothing moves.
[[nodiscard]] inline double all_reduce_bus_bandwidth(double algorithm_bandwidth, std::uint32_t ranks) {
    return algorithm_bandwidth * 2 * (static_cast<double>(ranks) - 1) / static_cast<double>(ranks);
}

} // namespace verbena::tools
