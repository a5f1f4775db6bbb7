/// @file
/// The plans that a group used last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "coll/algorithms.hpp"
#include "coll/schedule.hpp"

namespace verbena::coll {

/// One caller at a time.
class PlanCache {
  public:
    PlanCache(std::uint32_t rank, std::uint32_t ranks) noexcept : rank_(rank), ranks_(ranks) {}

    using Maker = RankPlan (*)(const Shape&);

    /// Made on first use. The plan lives on in whoever holds it when its place is taken by another.
    [[nodiscard]] std::shared_ptr<const Schedule> get(Maker maker, std::uint64_t count, std::uint64_t segment,
                                                      std::uint32_t root = 0);

    [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
    static constexpr std::size_t capacity = 64;

  private:
    struct Entry {
        Maker maker;
        std::uint64_t count;
        std::uint64_t segment;
        std::uint32_t root;
        std::uint64_t last_use;
        std::shared_ptr<const Schedule> schedule;
    };
    std::uint32_t rank_;
    std::uint32_t ranks_;
    std::vector<Entry> entries_;
    std::uint64_t uses_ = 0;
};

} // namespace verbena::coll
