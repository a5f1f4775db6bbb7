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

/// Algorithm bandwidth of a collective: bytes of a rank's longer buffer over the time.
[[nodiscard]] inline double algorithm_gigabytes_per_second(std::uint64_t bytes, Seconds time) {
    return static_cast<double>(bytes) / time.count() / 1e9;
}

} // namespace verbena::tools
