/// All-gathers in which what a rank holds doubles with every hop.
#include "coll/algorithms.hpp"

#include <algorithm>

#include "coll/binomial_tree.hpp"
#include "coll/blocks.hpp"

namespace verbena::coll {

RankPlan recursive_doubling_all_gather(const Shape& shape) {
    RankPlan plan;
    if (shape.count == 0) return plan;
    const auto blocks = [&](std::uint64_t first, std::uint64_t many) {
        return Range{Buffer::output, first * shape.count, many * shape.count};
    };
    std::vector<std::uint32_t> made = {
        plan.add({StepKind::copy, 0, blocks(shape.rank, 1), {Buffer::input, 0, shape.count}, {}, {}})};
    for (std::uint32_t distance = 1; distance < shape.ranks; distance *= 2) {
        const std::uint32_t peer = shape.rank ^ distance;
        const std::uint32_t ours = shape.rank & ~(distance - 1); // the first of the blocks that we hold
        plan.add({StepKind::send, peer, {}, blocks(ours, distance), {}, made});
        made.push_back(plan.add({StepKind::receive, peer, blocks(ours ^ distance, distance), {}, {}, {}}));
    }
    return plan;
}

RankPlan bruck_all_gather(const Shape& shape) {
    RankPlan plan;
    const Blocks blocks(shape);
    if (blocks.longest(shape.ranks) == 0) return plan;
    const auto range = [&](const Run& run) { return blocks.row(Buffer::output, run.first, run.blocks); };
    std::vector<std::uint32_t> made = {
        plan.add({StepKind::copy, 0, range({shape.rank, 1, 0}), {Buffer::input, 0, blocks.count(shape.rank)}, {}, {}})};
    for (std::uint64_t held = 1; held < shape.ranks; held *= 2) { // blocks from our own on, round the group
        const std::uint64_t wanted = std::min(held, shape.ranks - held);
        const auto to = static_cast<std::uint32_t>((shape.rank + shape.ranks - held) % shape.ranks);
        const auto from = static_cast<std::uint32_t>((shape.rank + held) % shape.ranks);
        for (const Run& run : runs(shape.rank, wanted, shape.ranks)) {
            plan.add({StepKind::send, to, {}, range(run), {}, made});
        }
        for (const Run& run : runs(from, wanted, shape.ranks)) {
            made.push_back(plan.add({StepKind::receive, from, range(run), {}, {}, {}}));
        }
    }
    return plan;
}

} // namespace verbena::coll
