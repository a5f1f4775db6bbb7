/// @file
/// How long to wait for an acknowledgement: smoothed round trip and its variation (RFC 6298). A value.
#pragma once

#include <algorithm>
#include <cstdint>

namespace verbena::reliable {

/// Nanoseconds of the clock that was handed in.
using Time = std::uint64_t;

class RoundTrip {
  public:
    static constexpr Time initial = 20'000'000;
    /// Above the acknowledgement delay and a scheduler's tick, so that an idle peer is not taken for a lossy path.
    static constexpr Time shortest = 2'000'000;
    static constexpr Time longest = 1'000'000'000;
    static constexpr std::uint32_t most_doublings = 6;

    void sample(Time taken) noexcept {
        if (smoothed_ == 0) {
            smoothed_ = taken;
            variation_ = taken / 2;
            return;
        }
        const Time difference = taken > smoothed_ ? taken - smoothed_ : smoothed_ - taken;
        variation_ = (3 * variation_ + difference) / 4;
        smoothed_ = (7 * smoothed_ + taken) / 8;
    }

    [[nodiscard]] Time smoothed() const noexcept { return smoothed_; }

    /// Doubled for each time in a row that nothing came.
    [[nodiscard]] Time timeout(std::uint32_t doublings) const noexcept {
        const Time once = smoothed_ == 0 ? initial : std::clamp(smoothed_ + 4 * variation_, shortest, longest);
        return std::min(longest, once << std::min(doublings, most_doublings));
    }

  private:
    Time smoothed_ = 0;
    Time variation_ = 0;
};

} // namespace verbena::reliable
