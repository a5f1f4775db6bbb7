#include "coll/algorithms.hpp"

#include <utility>

#include "coll/blocks.hpp"
#include "coll/shapes.hpp"

namespace verbena::coll {

RankPlan copy_alone(const Shape& shape) {
    RankPlan plan;
    const std::uint64_t count = Blocks(shape).count(0);
    if (count > 0) plan.add({StepKind::copy, 0, {Buffer::output, 0, count}, {Buffer::input, 0, count}, {}, {}});
    return plan;
}

Plan whole_plan(RankPlan (*algorithm)(const Shape&), Shape shape, std::vector<std::uint64_t> counts) {
    Plan plan;
    plan.count = shape.count;
    plan.root = shape.root;
    plan.counts = std::move(counts);
    const Shapes shapes(plan, shape.ranks, shape.segment);
    plan.ranks.reserve(shape.ranks);
    for (std::uint32_t rank = 0; rank < shape.ranks; ++rank) plan.ranks.push_back(algorithm(shapes.of(rank)));
    return plan;
}

} // namespace verbena::coll
