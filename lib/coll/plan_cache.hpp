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
    using Maker = RankPlan (*)(const Shape&);

    /// Made on first use. The plan lives on in whoever holds it when its place is taken by another.
    [[nodiscard]] std::shared_ptr<const Schedule> get(Maker maker, const Shape& shape);
    /// The same of a plan that is no algorithm's: `key` tells it from others, `make` gives it.
    template <class Make>
    [[nodiscard]] std::shared_ptr<const Schedule> get(std::uint64_t key, std::uint64_t count, Make make) {
        const Shape shape{0, 1, count, key, 0};
        if (std::shared_ptr<const Schedule> known = find(nullptr, shape)) return known;
        return keep(nullptr, shape, std::make_shared<const Schedule>(make()));
    }

    [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
    static constexpr std::size_t capacity = 64;

  private:
    struct Entry {
        Maker maker;
        Shape shape; ///< without its lists
        std::vector<std::uint64_t> counts;
        std::vector<std::uint64_t> receives;
        std::uint64_t last_use;
        std::shared_ptr<const Schedule> schedule;
    };
    [[nodiscard]] std::shared_ptr<const Schedule> find(Maker maker, const Shape& shape);
    std::shared_ptr<const Schedule> keep(Maker maker, const Shape& shape, std::shared_ptr<const Schedule> schedule);

    std::vector<Entry> entries_;
    std::uint64_t uses_ = 0;
};

} // namespace verbena::coll
