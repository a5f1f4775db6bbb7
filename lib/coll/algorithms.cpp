#include "coll/algorithms.hpp"

namespace verbena::coll {

RankPlan copy_alone(const Shape& shape) {
    RankPlan plan;
    const Range all{Buffer::input, 0, shape.count};
    if (shape.count > 0) plan.add({StepKind::copy, 0, {Buffer::output, 0, shape.count}, all, {}, {}});
    return plan;
}

Plan whole_plan(RankPlan (*algorithm)(const Shape&), Shape shape) {
    Plan plan;
    plan.count = shape.count;
    plan.root = shape.root;
    plan.ranks.reserve(shape.ranks);
    for (shape.rank = 0; shape.rank < shape.ranks; ++shape.rank) plan.ranks.push_back(algorithm(shape));
    return plan;
}

} // namespace verbena::coll
