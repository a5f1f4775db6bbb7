#include "coll/algorithms.hpp"

#include <utility>

namespace verbena::coll {

RankPlan bruck_all_to_all(const Shape& shape) {
    RankPlan plan;
    if (shape.count == 0) return plan;
    const std::uint64_t count = shape.count;
    const std::uint32_t ranks = shape.ranks;
    /// Where the block is that has yet to go `distance` ranks further on, and the step that put it there.
    struct Traveller {
        Range place;
        std::uint32_t made = no_step;
    };
    std::vector<Traveller> travellers;
    for (std::uint32_t distance = 0; distance < ranks; ++distance) {
        const std::uint64_t owner = (shape.rank + distance) % ranks;
        travellers.push_back({{Buffer::input, owner * count, count}, no_step});
    }
    for (std::uint64_t hop = 1; hop < ranks; hop *= 2) {
        std::vector<std::uint32_t> going; // those whose distance has this bit
        for (std::uint32_t distance = 1; distance < ranks; ++distance) {
            if ((distance & hop) != 0) going.push_back(distance);
        }
        const Range packed{Buffer::scratch, plan.scratch, going.size() * count};
        const Range landing{Buffer::scratch, packed.end(), packed.count};
        plan.scratch = landing.end();
        std::vector<std::uint32_t> copied;
        for (std::uint64_t index = 0; index < going.size(); ++index) {
            const Traveller& traveller = travellers[going[index]];
            copied.push_back(plan.add({StepKind::copy,
                                       0,
                                       {Buffer::scratch, packed.offset + index * count, count},
                                       traveller.place,
                                       {},
                                       {traveller.made}}));
        }
        const auto to = static_cast<std::uint32_t>((shape.rank + hop) % ranks);
        const auto from = static_cast<std::uint32_t>((shape.rank + ranks - hop) % ranks);
        plan.add({StepKind::send, to, {}, packed, {}, std::move(copied)});
        const std::uint32_t received = plan.add({StepKind::receive, from, landing, {}, {}, {}});
        for (std::uint64_t index = 0; index < going.size(); ++index)
            travellers[going[index]] = {{Buffer::scratch, landing.offset + index * count, count}, received};
    }
    for (std::uint32_t distance = 0; distance < ranks; ++distance) {
        const std::uint64_t origin = (shape.rank + ranks - distance) % ranks;
        const Traveller& traveller = travellers[distance];
        plan.add({StepKind::copy, 0, {Buffer::output, origin * count, count}, traveller.place, {}, {traveller.made}});
    }
    return plan;
}

} // namespace verbena::coll
