#include "coll/plan_cache.hpp"

#include <algorithm>
#include <utility>

namespace verbena::coll {

std::shared_ptr<const Schedule> PlanCache::get(Maker maker, const Shape& shape) {
    if (std::shared_ptr<const Schedule> known = find(maker, shape)) return known;
    return keep(maker, shape, std::make_shared<const Schedule>(maker(shape)));
}

std::shared_ptr<const Schedule> PlanCache::find(Maker maker, const Shape& shape) {
    ++uses_;
    for (Entry& entry : entries_) {
        const Shape& known = entry.shape;
        if (entry.maker != maker || known.count != shape.count || known.segment != shape.segment ||
            known.root != shape.root || known.rank != shape.rank || known.ranks != shape.ranks ||
            !std::ranges::equal(entry.counts, shape.counts) || !std::ranges::equal(entry.receives, shape.receives)) {
            continue;
        }
        entry.last_use = uses_;
        return entry.schedule;
    }
    return nullptr;
}

std::shared_ptr<const Schedule> PlanCache::keep(Maker maker, const Shape& shape,
                                                std::shared_ptr<const Schedule> schedule) {
    Entry made{maker,
               shape,
               {shape.counts.begin(), shape.counts.end()},
               {shape.receives.begin(), shape.receives.end()},
               uses_,
               std::move(schedule)};
    made.shape.counts = made.shape.receives = {};
    if (entries_.size() < capacity) return entries_.emplace_back(std::move(made)).schedule;
    const auto oldest = std::min_element(entries_.begin(), entries_.end(),
                                         [](const Entry& a, const Entry& b) { return a.last_use < b.last_use; });
    *oldest = std::move(made);
    return oldest->schedule;
}

} // namespace verbena::coll
