#include "coll/algorithms.hpp"

namespace verbena::coll {

RankPlan dissemination_barrier(const Shape& shape) {
    RankPlan plan;
    std::vector<std::uint32_t> heard; // a send speaks for every rank that its sender has heard of
    for (std::uint64_t distance = 1; distance < shape.ranks; distance *= 2) {
        const auto next = static_cast<std::uint32_t>((shape.rank + distance) % shape.ranks);
        const auto previous = static_cast<std::uint32_t>((shape.rank + shape.ranks - distance) % shape.ranks);
        plan.add({StepKind::send, next, {}, {}, {}, heard});
        heard.push_back(plan.add({StepKind::receive, previous, {Buffer::output, 0, 0}, {}, {}, {}}));
    }
    return plan;
}

} // namespace verbena::coll
