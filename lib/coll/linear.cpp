/// The root talks to every rank itself: the fewest copies, the most messages at one place.
#include "coll/algorithms.hpp"

#include "coll/blocks.hpp"

namespace verbena::coll {

RankPlan linear_gather(const Shape& shape) {
    RankPlan plan;
    const Blocks blocks(shape);
    if (blocks.longest(shape.ranks) == 0) return plan;
    const Range own{Buffer::input, 0, blocks.count(shape.rank)};
    if (shape.rank != shape.root) {
        plan.add({StepKind::send, shape.root, {}, own, {}, {}});
        return plan;
    }
    for (std::uint32_t rank = 0; rank < shape.ranks; ++rank) {
        if (rank != shape.root) plan.add({StepKind::receive, rank, blocks.block(Buffer::output, rank), {}, {}, {}});
    }
    plan.add({StepKind::copy, 0, blocks.block(Buffer::output, shape.rank), own, {}, {}});
    return plan;
}

RankPlan linear_scatter(const Shape& shape) {
    RankPlan plan;
    const Blocks blocks(shape);
    if (blocks.longest(shape.ranks) == 0) return plan;
    const Range own{Buffer::output, 0, blocks.count(shape.rank)};
    if (shape.rank != shape.root) {
        plan.add({StepKind::receive, shape.root, own, {}, {}, {}});
        return plan;
    }
    for (std::uint32_t distance = 1; distance < shape.ranks; ++distance) {
        const std::uint32_t rank = (shape.root + distance) % shape.ranks;
        plan.add({StepKind::send, rank, {}, blocks.block(Buffer::input, rank), {}, {}});
    }
    plan.add({StepKind::copy, 0, own, blocks.block(Buffer::input, shape.rank), {}, {}});
    return plan;
}

} // namespace verbena::coll
