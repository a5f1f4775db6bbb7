/// @file
/// How peers share slots that all of them use. A value: no clock, no I/O, no allocation. One caller at a time.
///
/// A peer that is dead, or slow, keeps what it holds until a timer ends it. So nobody may take everything: up to half
/// of the slots are kept for peers that hold none, and where there are several peers none holds more than half.
///
///   free >= min(peers that hold none, capacity / 2)      so with peers <= capacity / 2 each always finds a slot,
///                                                        whatever the others do
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>

namespace verbena::flow {

class SlotShares {
  public:
    explicit SlotShares(std::uint32_t capacity) noexcept : capacity_(capacity), free_(capacity) {}

    void add_peer() noexcept {
        ++peers_;
        ++without_;
    }

    [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }
    [[nodiscard]] std::uint32_t available() const noexcept { return free_; }

    /// A peer that holds `held` slots may take one more now.
    [[nodiscard]] bool may_take(std::uint32_t held) const noexcept {
        if (held == 0) return free_ > 0;
        if (peers_ > 1 && held >= std::max(capacity_ / 2, 1u)) return false;
        return free_ > std::min(without_, capacity_ / 2);
    }

    /// @param held before it takes
    void take(std::uint32_t held) noexcept {
        assert(free_ > 0);
        --free_;
        if (held == 0) --without_;
    }

    /// @param held before it gives; at least 1
    void give(std::uint32_t held) noexcept {
        assert(held > 0 && free_ < capacity_);
        ++free_;
        if (held == 1) ++without_;
    }

  private:
    std::uint32_t capacity_;
    std::uint32_t free_;
    std::uint32_t peers_ = 0;
    std::uint32_t without_ = 0; ///< peers that hold none
};

} // namespace verbena::flow
