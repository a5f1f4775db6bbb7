#include "statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace verbena::tools {

double percentile(std::span<const double> sorted, double percent) {
    const auto count = static_cast<double>(sorted.size());
    // The tolerance keeps 99.9 % of 1000 at rank 999: the product is 999.0000000000001 in binary.
    const auto rank = static_cast<std::size_t>(std::ceil(percent / 100 * count - 1e-9));
    return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

Summary summarize(std::span<double> samples) {
    Summary summary;
    if (samples.empty()) return summary;
    std::sort(samples.begin(), samples.end());
    const auto count = static_cast<double>(samples.size());
    summary.samples = samples.size();
    summary.minimum = samples.front();
    summary.maximum = samples.back();
    summary.mean = std::accumulate(samples.begin(), samples.end(), 0.0) / count;
    summary.median = percentile(samples, 50);
    summary.p99 = percentile(samples, 99);
    summary.p999 = percentile(samples, 99.9);
    double squares = 0;
    for (const double sample : samples) squares += (sample - summary.mean) * (sample - summary.mean);
    summary.deviation = std::sqrt(squares / count);
    return summary;
}

} // namespace verbena::tools
