/// Reduce-scatter and all-gather round a ring, of blocks of one length. The all-reduce in ring.cpp is both in one
/// buffer, where its partial sums have their place in the output.
#include "coll/algorithms.hpp"

#include <array>

namespace verbena::coll {
namespace {

/// A value of the reduce-scatter is sent while the next is made; a message is reduced while the next arrives.
constexpr std::uint64_t slots = 2;

std::uint32_t next(const Shape& shape) { return (shape.rank + 1) % shape.ranks; }
std::uint32_t previous(const Shape& shape) { return (shape.rank + shape.ranks - 1) % shape.ranks; }

/// The block `distance` places behind our own; below 2 * ranks.
Range block_back(const Shape& shape, Buffer buffer, std::uint64_t distance) {
    const std::uint64_t block = (shape.rank + 2 * std::uint64_t{shape.ranks} - distance) % shape.ranks;
    return {buffer, block * shape.count, shape.count};
}

} // namespace

RankPlan ring_reduce_scatter(const Shape& shape) {
    if (shape.ranks == 1) return copy_alone(shape);
    RankPlan plan;
    if (shape.count == 0) return plan;
    const std::uint64_t pieces = pieces_of(shape.count, shape.segment);
    const std::uint64_t landing = (shape.count + pieces - 1) / pieces;
    const std::uint64_t hops = shape.ranks - 1;
    const bool has_partials = hops > 1; // the last hop's result goes to the output
    plan.scratch = slots * landing + (has_partials ? slots * shape.count : 0);
    const auto partial = [&](std::uint64_t hop) {
        return Range{Buffer::scratch, slots * landing + hop % slots * shape.count, shape.count};
    };
    // By piece: the step that made our value of the last hop, and those that sent the values of the last two.
    std::vector<std::uint32_t> made(pieces, no_step);
    std::vector<std::array<std::uint32_t, slots>> sent(pieces, {no_step, no_step});
    std::array<std::uint32_t, slots> slot_user = {no_step, no_step};
    std::uint64_t slot = 0;
    for (std::uint64_t hop = 0; hop < hops; ++hop) {
        // Block b sets out from rank b + 1 and ends, complete, on rank b.
        const Range value = hop == 0 ? block_back(shape, Buffer::input, 1) : partial(hop - 1);
        const Range result = hop == hops - 1 ? Range{Buffer::output, 0, shape.count} : partial(hop);
        const Range ours = block_back(shape, Buffer::input, hop + 2);
        for (std::uint64_t index = 0; index < pieces; ++index) {
            const Range piece = part(value, pieces, index);
            sent[index][hop % slots] = plan.add({StepKind::send, next(shape), {}, piece, {}, {made[index]}});
            // Where partial(hop) goes, partial(hop - 2) was: a hop ago it was sent.
            const std::uint32_t reader = hop < 2 || hop == hops - 1 ? no_step : sent[index][(hop + 1) % slots];
            made[index] = plan.add({StepKind::receive_reduce,
                                    previous(shape),
                                    part(result, pieces, index),
                                    part(ours, pieces, index),
                                    {Buffer::scratch, slot * landing, piece.count},
                                    {slot_user[slot], reader}});
            slot_user[slot] = made[index];
            slot = (slot + 1) % slots;
        }
    }
    return plan;
}

RankPlan ring_all_gather(const Shape& shape) {
    RankPlan plan;
    if (shape.count == 0) return plan;
    const Range own{Buffer::input, 0, shape.count};
    const std::uint64_t pieces = pieces_of(shape.count, shape.segment);
    std::vector<std::uint32_t> made(pieces, no_step); // by piece: the step that brought what goes on next
    std::vector<std::uint32_t> own_sent;
    for (std::uint64_t hop = 0; hop + 1 < shape.ranks; ++hop) {
        const Range value = hop == 0 ? own : block_back(shape, Buffer::output, hop);
        const Range target = block_back(shape, Buffer::output, hop + 1);
        for (std::uint64_t index = 0; index < pieces; ++index) {
            const std::uint32_t sent =
                plan.add({StepKind::send, next(shape), {}, part(value, pieces, index), {}, {made[index]}});
            if (hop == 0) own_sent.push_back(sent);
            made[index] = plan.add({StepKind::receive, previous(shape), part(target, pieces, index), {}, {}, {}});
        }
    }
    // Off the way of the messages; in place, where it does nothing, the input is what they read.
    plan.add({StepKind::copy, 0, block_back(shape, Buffer::output, 0), own, {}, own_sent});
    return plan;
}

} // namespace verbena::coll
