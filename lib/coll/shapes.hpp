/// @file
/// Every rank's Shape of one plan.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "coll/algorithms.hpp"

namespace verbena::coll {

/// Borrows the plan's counts.
class Shapes {
  public:
    Shapes(const Plan& plan, std::uint32_t ranks, std::uint64_t segment = 0)
        : plan_(plan), ranks_(ranks), segment_(segment) {
        if (!is_matrix()) return;
        columns_.resize(plan.counts.size());
        for (std::uint64_t from = 0; from < ranks; ++from) {
            for (std::uint64_t to = 0; to < ranks; ++to) columns_[to * ranks + from] = plan.counts[from * ranks + to];
        }
    }
    [[nodiscard]] Shape of(std::uint32_t rank) const noexcept {
        Shape shape{rank, ranks_, plan_.count, segment_, plan_.root};
        shape.counts = plan_.counts;
        if (is_matrix()) {
            shape.counts = shape.counts.subspan(std::size_t{rank} * ranks_, ranks_);
            shape.receives = std::span(columns_).subspan(std::size_t{rank} * ranks_, ranks_);
        }
        return shape;
    }

  private:
    /// One rank's list and matrix are the same.
    [[nodiscard]] bool is_matrix() const noexcept {
        return !plan_.counts.empty() && plan_.counts.size() == std::size_t{ranks_} * ranks_;
    }

    const Plan& plan_;
    std::uint32_t ranks_;
    std::uint64_t segment_;
    std::vector<std::uint64_t> columns_; ///< of an all-to-all: by receiver, then by sender
};

} // namespace verbena::coll
