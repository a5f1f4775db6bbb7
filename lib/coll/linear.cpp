/// The root talks to every rank itself: the fewest copies, the most messages at one place.
#include "coll/algorithms.hpp"

namespace verbena::coll {
namespace {

Range block(Buffer buffer, const Shape& shape, std::uint64_t rank) { return {buffer, rank * shape.count, shape.count}; }

} // namespace

RankPlan linear_gather(const Shape& shape) {
    RankPlan plan;
    if (shape.count == 0) return plan;
    const Range own{Buffer::input, 0, shape.count};
    if (shape.rank != shape.root) {
        plan.add({StepKind::send, shape.root, {}, own, {}, {}});
        return plan;
    }
    for (std::uint32_t rank = 0; rank < shape.ranks; ++rank) {
        if (rank != shape.root) plan.add({StepKind::receive, rank, block(Buffer::output, shape, rank), {}, {}, {}});
    }
    plan.add({StepKind::copy, 0, block(Buffer::output, shape, shape.rank), own, {}, {}});
    return plan;
}

RankPlan linear_scatter(const Shape& shape) {
    RankPlan plan;
    if (shape.count == 0) return plan;
    const Range own{Buffer::output, 0, shape.count};
    if (shape.rank != shape.root) {
        plan.add({StepKind::receive, shape.root, own, {}, {}, {}});
        return plan;
    }
    for (std::uint32_t distance = 1; distance < shape.ranks; ++distance) {
        const std::uint32_t rank = (shape.root + distance) % shape.ranks;
        plan.add({StepKind::send, rank, {}, block(Buffer::input, shape, rank), {}, {}});
    }
    plan.add({StepKind::copy, 0, own, block(Buffer::input, shape, shape.rank), {}, {}});
    return plan;
}

} // namespace verbena::coll
