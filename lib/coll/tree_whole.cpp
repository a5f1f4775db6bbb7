/// Broadcast and reduction along a binomial tree: every hop carries the whole buffer, a segment at a time.
#include "coll/algorithms.hpp"

#include "coll/binomial_tree.hpp"

namespace verbena::coll {
namespace {

constexpr std::uint64_t landing_slots = 2; // one message is reduced while the next arrives

} // namespace

RankPlan binomial_broadcast(const Shape& shape) {
    if (shape.ranks == 1) return copy_alone(shape);
    RankPlan plan;
    if (shape.count == 0) return plan;
    const BinomialTree tree(shape);
    const std::vector<std::uint32_t> children = tree.children();
    const Range source{tree.is_root() ? Buffer::input : Buffer::output, 0, shape.count};
    const std::uint64_t pieces = pieces_of(shape.count, shape.segment);
    std::vector<std::uint32_t> sent;
    for (std::uint64_t index = 0; index < pieces; ++index) {
        const Range piece = part(source, pieces, index);
        std::uint32_t received = no_step;
        if (!tree.is_root()) received = plan.add({StepKind::receive, tree.parent(), piece, {}, {}, {}});
        for (std::size_t child = children.size(); child-- > 0;) { // the largest subtree has the longest way to go
            sent.push_back(plan.add({StepKind::send, tree.rank_at(children[child]), {}, piece, {}, {received}}));
        }
    }
    if (tree.is_root()) plan.add({StepKind::copy, 0, {Buffer::output, 0, shape.count}, source, {}, sent});
    return plan;
}

RankPlan binomial_reduce(const Shape& shape) {
    if (shape.ranks == 1) return copy_alone(shape);
    RankPlan plan;
    if (shape.count == 0) return plan;
    const BinomialTree tree(shape);
    const std::vector<std::uint32_t> children = tree.children();
    const std::uint64_t pieces = pieces_of(shape.count, shape.segment);
    const std::uint64_t landing = (shape.count + pieces - 1) / pieces;
    const std::uint64_t landings = children.empty() ? 0 : landing_slots * landing;
    // Whoever is not the root has no output: what it has reduced waits in scratch behind the landing places.
    const bool needs_room = !tree.is_root() && !children.empty();
    const Range reduced =
        tree.is_root() ? Range{Buffer::output, 0, shape.count} : Range{Buffer::scratch, landings, shape.count};
    plan.scratch = landings + (needs_room ? shape.count : 0);
    std::uint32_t slot_user[landing_slots] = {no_step, no_step};
    std::uint64_t slot = 0;
    for (std::uint64_t index = 0; index < pieces; ++index) {
        Range value = part({Buffer::input, 0, shape.count}, pieces, index);
        const Range target = part(reduced, pieces, index);
        std::uint32_t made = no_step;
        for (const std::uint32_t child : children) {
            const Range lands{Buffer::scratch, slot * landing, value.count};
            made = plan.add(
                {StepKind::receive_reduce, tree.rank_at(child), target, value, lands, {made, slot_user[slot]}});
            slot_user[slot] = made;
            slot = (slot + 1) % landing_slots;
            value = target;
        }
        if (!tree.is_root()) plan.add({StepKind::send, tree.parent(), {}, value, {}, {made}});
    }
    return plan;
}

} // namespace verbena::coll
