/// @file
/// Where the ranks' blocks lie in a buffer that holds one of each. A value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "coll/algorithms.hpp"

namespace verbena::coll {

/// Blocks of one length, or each of its own; they follow each other without a gap.
class Blocks {
  public:
    /// `counts`: by rank; empty: `count` each.
    Blocks(std::uint64_t count, std::span<const std::uint64_t> counts) : count_(count) {
        if (counts.empty()) return;
        begins_.reserve(counts.size() + 1);
        begins_.push_back(0);
        for (const std::uint64_t each : counts) begins_.push_back(begins_.back() + each);
    }
    explicit Blocks(const Shape& shape) : Blocks(shape.count, shape.counts) {}

    [[nodiscard]] std::uint64_t begin(std::uint64_t rank) const noexcept {
        return begins_.empty() ? rank * count_ : begins_[rank];
    }
    [[nodiscard]] std::uint64_t count(std::uint64_t rank) const noexcept { return begin(rank + 1) - begin(rank); }
    /// `many` blocks from that of rank `first` on.
    [[nodiscard]] Range row(Buffer buffer, std::uint64_t first, std::uint64_t many) const noexcept {
        return {buffer, begin(first), begin(first + many) - begin(first)};
    }
    [[nodiscard]] Range block(Buffer buffer, std::uint64_t rank) const noexcept { return row(buffer, rank, 1); }
    [[nodiscard]] std::uint64_t longest(std::uint32_t ranks) const noexcept {
        std::uint64_t most = 0;
        for (std::uint32_t rank = 0; rank < ranks; ++rank) most = std::max(most, count(rank));
        return most;
    }

  private:
    std::uint64_t count_;
    std::vector<std::uint64_t> begins_; ///< one more than ranks; empty: all are of one length
};

} // namespace verbena::coll
