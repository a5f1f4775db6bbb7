/// Scans: a rank's result is the reduction over itself and the ranks below it, or over those below it alone.
#include "coll/algorithms.hpp"

#include <array>

namespace verbena::coll {
namespace {

/// Doubles the row of ranks that a value stands for: in round k it goes to the rank 2^k further on (Hillis and Steele,
/// 1986). The lower ranks' part is always left. `value` lies in the input or, made by `made`, in the output. Ranks
/// below `first` take no part.
void double_up(RankPlan& plan, const Shape& shape, std::uint32_t first, Range value, std::uint32_t made) {
    const Range output{Buffer::output, 0, shape.count};
    std::array<std::uint32_t, 2> slot_user = {no_step, no_step};
    std::uint64_t slot = 0;
    std::vector<std::uint32_t> sent;
    for (std::uint64_t distance = 1; distance < shape.ranks - first; distance *= 2) {
        if (shape.rank + distance < shape.ranks) {
            const auto to = static_cast<std::uint32_t>(shape.rank + distance);
            sent.push_back(plan.add({StepKind::send, to, {}, value, {}, {made}}));
        }
        if (shape.rank < first + distance) continue; // our value is whole; others may still want it
        const auto from = static_cast<std::uint32_t>(shape.rank - distance);
        const Range lands{Buffer::scratch, slot * shape.count, shape.count};
        const std::uint32_t received = plan.add({StepKind::receive, from, lands, {}, {}, {slot_user[slot]}});
        std::vector<std::uint32_t> after = sent;
        after.push_back(received);
        after.push_back(made);
        made = plan.add({StepKind::reduce, 0, output, lands, value, std::move(after)});
        slot_user[slot] = made;
        slot ^= 1;
        sent.clear();
        value = output;
    }
    if (value.buffer == Buffer::input) plan.add({StepKind::copy, 0, output, value, {}, sent});
}

} // namespace

RankPlan doubling_scan(const Shape& shape) {
    RankPlan plan;
    if (shape.count == 0) return plan;
    plan.scratch = 2 * shape.count;
    double_up(plan, shape, 0, {Buffer::input, 0, shape.count}, no_step);
    return plan;
}

RankPlan doubling_exclusive_scan(const Shape& shape) {
    RankPlan plan;
    if (shape.count == 0 || shape.ranks == 1) return plan;
    // Every value goes one rank further on; from there on it is an inclusive scan over all ranks but the first.
    const Range input{Buffer::input, 0, shape.count};
    const Range output{Buffer::output, 0, shape.count};
    std::uint32_t sent = no_step;
    if (shape.rank + 1 < shape.ranks) sent = plan.add({StepKind::send, shape.rank + 1, {}, input, {}, {}});
    if (shape.rank == 0) return plan;
    plan.scratch = 2 * shape.count;
    const std::uint32_t made = plan.add({StepKind::receive, shape.rank - 1, output, {}, {}, {sent}});
    double_up(plan, shape, 1, output, made);
    return plan;
}

RankPlan chain_scan(const Shape& shape) {
    if (shape.ranks == 1) return copy_alone(shape);
    RankPlan plan;
    if (shape.count == 0) return plan;
    const std::uint64_t pieces = pieces_of(shape.count, shape.segment);
    const std::uint64_t landing = (shape.count + pieces - 1) / pieces;
    plan.scratch = 2 * landing;
    std::array<std::uint32_t, 2> slot_user = {no_step, no_step};
    for (std::uint64_t index = 0; index < pieces; ++index) {
        const Range own = part({Buffer::input, 0, shape.count}, pieces, index);
        const Range result = part({Buffer::output, 0, shape.count}, pieces, index);
        std::uint32_t made = no_step;
        if (shape.rank == 0) {
            plan.add({StepKind::send, 1, {}, own, {}, {}});
            continue;
        }
        const Range lands{Buffer::scratch, index % 2 * landing, own.count};
        const std::uint32_t received =
            plan.add({StepKind::receive, shape.rank - 1, lands, {}, {}, {slot_user[index % 2]}});
        made = plan.add({StepKind::reduce, 0, result, lands, own, {received}});
        slot_user[index % 2] = made;
        if (shape.rank + 1 < shape.ranks) plan.add({StepKind::send, shape.rank + 1, {}, result, {}, {made}});
    }
    if (shape.rank == 0) {
        std::vector<std::uint32_t> sent;
        for (std::uint32_t index = 0; index < pieces; ++index) sent.push_back(index);
        plan.add({StepKind::copy,
                  0,
                  {Buffer::output, 0, shape.count},
                  {Buffer::input, 0, shape.count},
                  {},
                  std::move(sent)});
    }
    return plan;
}

} // namespace verbena::coll
