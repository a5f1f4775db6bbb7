#include "coll/algorithms.hpp"

#include <utility>

#include "coll/blocks.hpp"

namespace verbena::coll {

RankPlan pairwise_all_to_all(const Shape& shape) {
    RankPlan plan;
    if (shape.count == 0 && shape.counts.empty()) return plan;
    const Blocks from_us(shape);
    const Blocks to_us(shape.count, shape.receives);
    const auto block = [&](Buffer buffer, std::uint64_t rank) {
        return (buffer == Buffer::input ? from_us : to_us).block(buffer, rank);
    };
    // A round waits for the one before the last: in each, no rank is sent to by two, and one message follows another
    // without a gap.
    std::vector<std::uint32_t> last;
    std::vector<std::uint32_t> before;
    for (std::uint32_t distance = 1; distance < shape.ranks; ++distance) {
        const std::uint32_t to = (shape.rank + distance) % shape.ranks;
        const std::uint32_t from = (shape.rank + shape.ranks - distance) % shape.ranks;
        const std::vector<std::uint32_t> round = {
            plan.add({StepKind::send, to, {}, block(Buffer::input, to), {}, before}),
            plan.add({StepKind::receive, from, block(Buffer::output, from), {}, {}, before})};
        before = std::exchange(last, round);
    }
    plan.add({StepKind::copy, 0, block(Buffer::output, shape.rank), block(Buffer::input, shape.rank), {}, {}});
    return plan;
}

} // namespace verbena::coll
