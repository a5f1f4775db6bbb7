#pragma once

#include <cstdint>

namespace verbena::sim {

/// The one source of chance of a fabric: SplitMix64, the same sequence on every platform (the standard library's
/// distributions are not).
class Random {
  public:
    explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

    std::uint64_t next() noexcept {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }

    /// 0 to `limit`, both included. The bias of the remainder (below 2^-32 for what is asked here) does not matter.
    std::uint64_t up_to(std::uint64_t limit) noexcept { return limit == 0 ? 0 : next() % (limit + 1); }

    /// True with this probability. Certain outcomes draw nothing, so that switching a fault off is switching it off.
    bool chance(double probability) noexcept {
        if (probability <= 0) return false;
        return static_cast<double>(next() >> 11) * 0x1p-53 < probability;
    }

  private:
    std::uint64_t state_;
};

} // namespace verbena::sim
