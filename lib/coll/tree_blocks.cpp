/// Gather and scatter along a binomial tree: a hop carries the blocks of a whole subtree.
#include "coll/algorithms.hpp"

#include "coll/binomial_tree.hpp"

namespace verbena::coll {
namespace {

/// A row of blocks that a subtree's first place exchanges with its parent: where it wraps round the end of the root's
/// buffer it takes two messages, at both ends and on every level alike.
std::vector<Run> runs_of_subtree(const BinomialTree& tree, const Shape& shape, std::uint32_t place) {
    return runs(tree.rank_at(place), tree.subtree(place), shape.ranks);
}

/// The run within the root's buffer, or within scratch, which holds the subtree's blocks from our own on.
Range range_of(const BinomialTree& tree, const Shape& shape, std::uint32_t place, const Run& run, Buffer at_root) {
    if (tree.is_root()) return {at_root, run.first * shape.count, run.blocks * shape.count};
    return {Buffer::scratch, (place - tree.place() + run.skipped) * shape.count, run.blocks * shape.count};
}

} // namespace

RankPlan binomial_gather(const Shape& shape) {
    if (shape.ranks == 1) return copy_alone(shape);
    RankPlan plan;
    if (shape.count == 0) return plan;
    const BinomialTree tree(shape);
    const Range own{Buffer::input, 0, shape.count};
    const std::vector<std::uint32_t> children = tree.children();
    if (children.empty()) {
        plan.add({StepKind::send, tree.parent(), {}, own, {}, {}});
        return plan;
    }
    const Run first{shape.rank, 1, 0};
    if (!tree.is_root()) plan.scratch = tree.subtree(tree.place()) * shape.count;
    std::vector<std::uint32_t> come = {
        plan.add({StepKind::copy, 0, range_of(tree, shape, tree.place(), first, Buffer::output), own, {}, {}})};
    for (const std::uint32_t child : children) {
        for (const Run& run : runs_of_subtree(tree, shape, child)) {
            const Range target = range_of(tree, shape, child, run, Buffer::output);
            come.push_back(plan.add({StepKind::receive, tree.rank_at(child), target, {}, {}, {}}));
        }
    }
    if (tree.is_root()) return plan;
    for (const Run& run : runs_of_subtree(tree, shape, tree.place())) {
        const Range source = range_of(tree, shape, tree.place(), run, Buffer::output);
        plan.add({StepKind::send, tree.parent(), {}, source, {}, come});
    }
    return plan;
}

RankPlan binomial_scatter(const Shape& shape) {
    if (shape.ranks == 1) return copy_alone(shape);
    RankPlan plan;
    if (shape.count == 0) return plan;
    const BinomialTree tree(shape);
    const Range own{Buffer::output, 0, shape.count};
    const std::vector<std::uint32_t> children = tree.children();
    if (children.empty()) {
        plan.add({StepKind::receive, tree.parent(), own, {}, {}, {}});
        return plan;
    }
    std::vector<std::uint32_t> come;
    if (!tree.is_root()) {
        plan.scratch = tree.subtree(tree.place()) * shape.count;
        for (const Run& run : runs_of_subtree(tree, shape, tree.place())) {
            const Range target = range_of(tree, shape, tree.place(), run, Buffer::input);
            come.push_back(plan.add({StepKind::receive, tree.parent(), target, {}, {}, {}}));
        }
    }
    for (std::size_t child = children.size(); child-- > 0;) { // the largest subtree has the longest way to go
        for (const Run& run : runs_of_subtree(tree, shape, children[child])) {
            const Range source = range_of(tree, shape, children[child], run, Buffer::input);
            plan.add({StepKind::send, tree.rank_at(children[child]), {}, source, {}, come});
        }
    }
    const Range first = range_of(tree, shape, tree.place(), {shape.rank, 1, 0}, Buffer::input);
    plan.add({StepKind::copy, 0, own, first, {}, come});
    return plan;
}

} // namespace verbena::coll
