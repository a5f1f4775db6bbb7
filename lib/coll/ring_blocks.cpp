/// Reduce-scatter and all-gather round a ring, of the ranks' blocks. The all-reduce in ring.cpp is both in one
/// buffer, where its partial sums have their place in the output.
#include "coll/algorithms.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "coll/blocks.hpp"

namespace verbena::coll {
namespace {

/// A value of the reduce-scatter is sent while the next is made; a message is reduced while the next arrives.
constexpr std::uint64_t slots = 2;

std::uint32_t next(const Shape& shape) { return (shape.rank + 1) % shape.ranks; }
std::uint32_t previous(const Shape& shape) { return (shape.rank + shape.ranks - 1) % shape.ranks; }

/// The rank `distance` places behind our own; below 2 * ranks.
std::uint64_t back(const Shape& shape, std::uint64_t distance) {
    return (shape.rank + 2 * std::uint64_t{shape.ranks} - distance) % shape.ranks;
}

} // namespace

RankPlan ring_reduce_scatter(const Shape& shape) {
    if (shape.ranks == 1) return copy_alone(shape);
    RankPlan plan;
    const Blocks blocks(shape);
    const std::uint64_t longest = blocks.longest(shape.ranks);
    if (longest == 0) return plan;
    const std::uint64_t most_pieces = pieces_of(longest, shape.segment);
    const std::uint64_t landing = (longest + most_pieces - 1) / most_pieces;
    const std::uint64_t hops = shape.ranks - 1;
    const bool has_partials = hops > 1; // the last hop's result goes to the output
    plan.scratch = slots * landing + (has_partials ? slots * longest : 0);
    const auto partial = [&](std::uint64_t hop, std::uint64_t count) {
        return Range{Buffer::scratch, slots * landing + hop % slots * longest, count};
    };
    // By piece: the steps that made our value of the last hop, and those that sent the values of the last two.
    std::vector<std::uint32_t> made(most_pieces, no_step);
    std::array<std::vector<std::uint32_t>, slots> sent;
    std::array<std::uint32_t, slots> slot_user = {no_step, no_step};
    std::uint64_t slot = 0;
    for (std::uint64_t hop = 0; hop < hops; ++hop) {
        // Block b sets out from rank b + 1 and ends, complete, on rank b.
        const Range outgoing = blocks.block(Buffer::input, back(shape, hop + 1));
        const Range ours = blocks.block(Buffer::input, back(shape, hop + 2));
        const Range value = hop == 0 ? outgoing : partial(hop - 1, outgoing.count);
        const Range result = hop == hops - 1 ? Range{Buffer::output, 0, ours.count} : partial(hop, ours.count);
        const std::uint64_t out = pieces_of(outgoing.count, shape.segment);
        const std::uint64_t in = pieces_of(ours.count, shape.segment);
        // Where partial(hop) goes, partial(hop - 2) was: a hop ago it was sent. Blocks of another length are cut
        // elsewhere, so that each piece may touch any piece of theirs.
        const std::vector<std::uint32_t> readers =
            hop < 2 || hop == hops - 1 ? std::vector<std::uint32_t>{} : sent[(hop + 1) % slots];
        const bool is_even = shape.counts.empty();
        std::vector<std::uint32_t> now_made(most_pieces, no_step);
        sent[hop % slots].clear();
        for (std::uint64_t index = 0; index < std::max(out, in); ++index) {
            if (index < out) {
                const Range piece = part(value, out, index);
                sent[hop % slots].push_back(plan.add({StepKind::send, next(shape), {}, piece, {}, {made[index]}}));
            }
            if (index >= in) continue;
            std::vector<std::uint32_t> after = {slot_user[slot]};
            if (!is_even) after.insert(after.end(), readers.begin(), readers.end());
            if (is_even && index < readers.size()) after.push_back(readers[index]);
            const Range piece = part(ours, in, index);
            now_made[index] = plan.add({StepKind::receive_reduce,
                                        previous(shape),
                                        part(result, in, index),
                                        piece,
                                        {Buffer::scratch, slot * landing, piece.count},
                                        std::move(after)});
            slot_user[slot] = now_made[index];
            slot = (slot + 1) % slots;
        }
        made = std::move(now_made);
    }
    return plan;
}

RankPlan ring_all_gather(const Shape& shape) {
    RankPlan plan;
    const Blocks blocks(shape);
    const std::uint64_t longest = blocks.longest(shape.ranks);
    if (longest == 0) return plan;
    const Range own{Buffer::input, 0, blocks.count(shape.rank)};
    const std::uint64_t most_pieces = pieces_of(longest, shape.segment);
    std::vector<std::uint32_t> made(most_pieces, no_step); // by piece: the step that brought what goes on next
    std::vector<std::uint32_t> own_sent;
    for (std::uint64_t hop = 0; hop + 1 < shape.ranks; ++hop) {
        const Range value = hop == 0 ? own : blocks.block(Buffer::output, back(shape, hop));
        const Range target = blocks.block(Buffer::output, back(shape, hop + 1));
        const std::uint64_t out = pieces_of(value.count, shape.segment);
        const std::uint64_t in = pieces_of(target.count, shape.segment);
        for (std::uint64_t index = 0; index < std::max(out, in); ++index) {
            if (index < out) {
                const std::uint32_t sent =
                    plan.add({StepKind::send, next(shape), {}, part(value, out, index), {}, {made[index]}});
                if (hop == 0) own_sent.push_back(sent);
            }
            if (index < in)
                made[index] = plan.add({StepKind::receive, previous(shape), part(target, in, index), {}, {}, {}});
        }
    }
    // Off the way of the messages; in place, where it does nothing, the input is what they read.
    if (own.count > 0)
        plan.add({StepKind::copy, 0, blocks.block(Buffer::output, shape.rank), own, {}, std::move(own_sent)});
    return plan;
}

} // namespace verbena::coll
