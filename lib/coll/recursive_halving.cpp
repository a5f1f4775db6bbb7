#include "coll/algorithms.hpp"

namespace verbena::coll {

RankPlan recursive_halving_reduce_scatter(const Shape& shape) {
    if (shape.ranks == 1) return copy_alone(shape);
    RankPlan plan;
    if (shape.count == 0) return plan;
    const std::uint64_t half = shape.ranks / 2 * shape.count;
    plan.scratch = half + (shape.ranks - 1) * shape.count; // what is reduced, then a landing place a hop
    Range value{Buffer::input, 0, shape.ranks * shape.count};
    std::uint32_t made = no_step;
    std::uint64_t landing = half;
    for (std::uint32_t distance = shape.ranks / 2; distance > 0; distance /= 2) {
        const std::uint32_t peer = shape.rank ^ distance;
        const bool keeps_upper = (shape.rank & distance) != 0;
        Range kept{value.buffer, value.offset, distance * shape.count};
        Range given = kept;
        (keeps_upper ? kept : given).offset += distance * shape.count;
        const Range lands{Buffer::scratch, landing, kept.count};
        landing += kept.count;
        // The first result lies at the start of scratch, each later one over its left operand, the last in the output.
        Range result = value.buffer == Buffer::input ? Range{Buffer::scratch, 0, kept.count} : kept;
        if (distance == 1) result = {Buffer::output, 0, kept.count};
        plan.add({StepKind::send, peer, {}, given, {}, {made}});
        const std::uint32_t received = plan.add({StepKind::receive, peer, lands, {}, {}, {}});
        made = plan.add({StepKind::reduce, 0, result, kept, lands, {received, made}});
        value = result;
    }
    return plan;
}

} // namespace verbena::coll
