#include "coll/plan_cache.hpp"

#include <algorithm>
#include <utility>

namespace verbena::coll {

std::shared_ptr<const Schedule> PlanCache::get(Maker maker, std::uint64_t count, std::uint64_t segment,
                                               std::uint32_t root) {
    ++uses_;
    for (Entry& entry : entries_) {
        if (entry.maker != maker || entry.count != count || entry.segment != segment || entry.root != root) continue;
        entry.last_use = uses_;
        return entry.schedule;
    }
    Entry made{maker, count, segment,
               root,  uses_, std::make_shared<const Schedule>(maker({rank_, ranks_, count, segment, root}))};
    if (entries_.size() < capacity) return entries_.emplace_back(std::move(made)).schedule;
    const auto oldest = std::min_element(entries_.begin(), entries_.end(),
                                         [](const Entry& a, const Entry& b) { return a.last_use < b.last_use; });
    *oldest = std::move(made);
    return oldest->schedule;
}

} // namespace verbena::coll
