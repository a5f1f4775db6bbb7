/// @file
/// What is said about a series of measurements.
#pragma once

#include <cstdint>
#include <span>

namespace verbena::tools {

/// Percentiles are nearest-rank: the smallest sample that at least so many per cent of all do not pass. Same unit as
/// the samples.
struct Summary {
    std::size_t samples = 0;
    double minimum = 0;
    double mean = 0;
    double median = 0;
    double p99 = 0;
    double p999 = 0;
    double maximum = 0;
    double deviation = 0; ///< standard deviation over the samples
};

/// Sorts `samples` in place. All zero for none.
[[nodiscard]] Summary summarize(std::span<double> samples);

/// Nearest-rank percentile, 0 < percent <= 100, of samples sorted upwards, at least one.
[[nodiscard]] double percentile(std::span<const double> sorted, double percent);

} // namespace verbena::tools
