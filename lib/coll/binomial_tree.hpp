/// @file
/// The binomial tree over a group: who is whose parent. Pure values.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "coll/algorithms.hpp"

namespace verbena::coll {

/// Ranks stand at places, counted from the root on, round the group. The parent of a place is that place without its
/// lowest bit, so a subtree is a row of places that follow each other.
class BinomialTree {
  public:
    explicit BinomialTree(const Shape& shape) noexcept
        : ranks_(shape.ranks), root_(shape.root), place_((shape.rank + shape.ranks - shape.root) % shape.ranks) {}

    [[nodiscard]] std::uint32_t place() const noexcept { return place_; } ///< our own
    [[nodiscard]] bool is_root() const noexcept { return place_ == 0; }
    [[nodiscard]] std::uint32_t rank_at(std::uint64_t place) const noexcept {
        return static_cast<std::uint32_t>((place + root_) % ranks_);
    }
    [[nodiscard]] std::uint32_t parent() const noexcept { return rank_at(place_ & (place_ - 1)); }
    /// Places in the subtree that begins at `place`, itself included.
    [[nodiscard]] std::uint32_t subtree(std::uint32_t place) const noexcept {
        return place == 0 ? ranks_ : std::min(place & (~place + 1), ranks_ - place);
    }
    /// Our children's places, that of the smallest subtree first.
    [[nodiscard]] std::vector<std::uint32_t> children() const {
        std::vector<std::uint32_t> places;
        const std::uint32_t end = place_ + subtree(place_);
        for (std::uint32_t distance = 1; place_ + distance < end; distance *= 2) places.push_back(place_ + distance);
        return places;
    }

  private:
    std::uint32_t ranks_;
    std::uint32_t root_;
    std::uint32_t place_;
};

/// Blocks that follow each other in a buffer that holds one of each rank.
struct Run {
    std::uint64_t first = 0;   ///< block, which is that of the rank of this number
    std::uint64_t blocks = 0;  ///< how many
    std::uint64_t skipped = 0; ///< blocks of the row that come before this run
};

/// `blocks` blocks from `first` on, round the end of the buffer: one run, or two.
[[nodiscard]] inline std::vector<Run> runs(std::uint64_t first, std::uint64_t blocks, std::uint64_t ranks) {
    const std::uint64_t before_end = std::min(blocks, ranks - first);
    std::vector<Run> found = {{first, before_end, 0}};
    if (before_end < blocks) found.push_back({0, blocks - before_end, before_end});
    return found;
}

} // namespace verbena::coll
