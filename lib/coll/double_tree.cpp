/// Broadcast, reduce and all-reduce over two binary trees at once (Sanders, Speck and Traeff, 2009): each carries half
/// of the buffer, and whoever has children in one is a leaf of the other, so every link is used in both directions.
#include "coll/algorithms.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace verbena::coll {
namespace {

/// An in-order binary tree over nodes 1 to `nodes`: odd ones are its leaves. The parent of a node stands at the
/// distance of its lowest bit, above or below, where the next higher bit is the lowest; at the upper end, where there
/// is no such node, below.
class InOrderTree {
  public:
    explicit InOrderTree(std::uint32_t nodes) noexcept : nodes_(nodes) {}

    /// 0 for the top.
    [[nodiscard]] std::uint32_t parent(std::uint32_t node) const noexcept {
        const std::uint32_t low = node & (~node + 1);
        const std::uint32_t below = node - low;
        const std::uint32_t above = node + low;
        if (below == 0) return above <= nodes_ ? above : 0;
        const bool is_below = (below & (~below + 1)) == 2 * low;
        return is_below || above > nodes_ ? below : above;
    }
    [[nodiscard]] std::vector<std::uint32_t> children(std::uint32_t node) const {
        std::vector<std::uint32_t> found;
        for (std::uint32_t distance = (node & (~node + 1)) / 2; distance > 0; distance /= 2) {
            for (const std::uint32_t child : {node - distance, node + distance}) {
                if (child <= nodes_ && parent(child) == node) found.push_back(child);
            }
        }
        return found;
    }
    [[nodiscard]] std::uint32_t top() const noexcept { return std::bit_floor(nodes_); }

  private:
    std::uint32_t nodes_;
};

/// One rank's place in tree 0 or 1. The root stands outside both, above their tops.
class Place {
  public:
    Place(const Shape& shape, unsigned tree)
        : ranks_(shape.ranks), root_(shape.root), nodes_(shape.ranks - 1), tree_(tree) {
        const InOrderTree shape_of(nodes_);
        const std::uint32_t position = (shape.rank + shape.ranks - shape.root) % shape.ranks;
        if (position == 0) {
            children_.push_back(rank_of(shape_of.top()));
            return;
        }
        const std::uint32_t node = node_of(position);
        const std::uint32_t above = shape_of.parent(node);
        parent_ = above == 0 ? shape.root : rank_of(above);
        for (const std::uint32_t child : shape_of.children(node)) children_.push_back(rank_of(child));
    }
    [[nodiscard]] std::uint32_t parent() const noexcept { return parent_; }
    [[nodiscard]] const std::vector<std::uint32_t>& children() const noexcept { return children_; }

  private:
    /// Tree 1 is tree 0 with its nodes in reverse, or moved by one where a reversal keeps odd nodes odd.
    [[nodiscard]] std::uint32_t node_of(std::uint32_t position) const noexcept {
        if (tree_ == 0) return position;
        return nodes_ % 2 == 0 ? nodes_ + 1 - position : position % nodes_ + 1;
    }
    [[nodiscard]] std::uint32_t rank_of(std::uint32_t node) const noexcept {
        std::uint32_t position = node;
        if (tree_ == 1) position = nodes_ % 2 == 0 ? nodes_ + 1 - node : (node + nodes_ - 2) % nodes_ + 1;
        return (position + root_) % ranks_;
    }

    std::uint32_t ranks_;
    std::uint32_t root_;
    std::uint32_t nodes_;
    unsigned tree_;
    std::uint32_t parent_ = 0;
    std::vector<std::uint32_t> children_;
};

constexpr std::uint64_t landing_slots = 4;

class DoubleTree {
  public:
    explicit DoubleTree(const Shape& shape)
        : shape_(shape), places_{Place(shape, 0), Place(shape, 1)}, is_root_(shape.rank == shape.root) {
        pieces_ = pieces_of((shape.count + 1) / 2, shape.segment);
        landing_ = ((shape.count + 1) / 2 + pieces_ - 1) / pieces_;
    }

    /// A piece of our input, and what our children send for it, is reduced into its place in `values`, which begins
    /// `values_at` elements into that buffer.
    void reduce_up(Buffer values, std::uint64_t values_at) {
        plan_.scratch = std::max(plan_.scratch, landing_slots * landing_);
        std::array<std::uint32_t, landing_slots> slot_user;
        slot_user.fill(no_step);
        std::uint64_t slot = 0;
        for (std::uint64_t index = 0; index < 2 * pieces_; ++index) {
            Range value = piece(Buffer::input, index);
            if (value.count == 0) continue;
            Range target = piece(values, index);
            target.offset += values_at;
            const Place& place = places_[index % 2];
            std::uint32_t made = no_step;
            for (const std::uint32_t child : place.children()) {
                const Range lands{Buffer::scratch, slot * landing_, value.count};
                made = plan_.add({StepKind::receive_reduce, child, target, value, lands, {made, slot_user[slot]}});
                slot_user[slot] = made;
                slot = (slot + 1) % landing_slots;
                value = target;
            }
            sent_up_[index % 2].push_back(
                is_root_ ? no_step : plan_.add({StepKind::send, place.parent(), {}, value, {}, {made}}));
            made_[index % 2].push_back(made);
        }
    }

    /// `source`: where the root has it; the others put it into their output, once a reduction before has sent it up.
    void pass_down(Buffer source) {
        std::vector<std::uint32_t> sent;
        std::array<std::size_t, 2> turn = {0, 0};
        for (std::uint64_t index = 0; index < 2 * pieces_; ++index) {
            const Range value = piece(is_root_ ? source : Buffer::output, index);
            if (value.count == 0) continue;
            const unsigned tree = index % 2;
            const std::size_t now = turn[tree]++;
            std::uint32_t made = now < made_[tree].size() ? made_[tree][now] : no_step;
            if (!is_root_) {
                const std::uint32_t before = now < sent_up_[tree].size() ? sent_up_[tree][now] : no_step;
                made = plan_.add({StepKind::receive, places_[tree].parent(), value, {}, {}, {before, made}});
            }
            for (const std::uint32_t child : places_[tree].children())
                sent.push_back(plan_.add({StepKind::send, child, {}, value, {}, {made}}));
        }
        if (is_root_ && source == Buffer::input) {
            const Range all{Buffer::input, 0, shape_.count};
            plan_.add({StepKind::copy, 0, {Buffer::output, 0, shape_.count}, all, {}, std::move(sent)});
        }
    }

    RankPlan take() { return std::move(plan_); }
    void need(std::uint64_t scratch) { plan_.scratch = scratch; }
    [[nodiscard]] std::uint64_t landings() const noexcept { return landing_slots * landing_; }
    [[nodiscard]] bool is_root() const noexcept { return is_root_; }

  private:
    /// Piece by piece of both halves in turn.
    [[nodiscard]] Range piece(Buffer buffer, std::uint64_t index) const noexcept {
        return part(part({buffer, 0, shape_.count}, 2, index % 2), pieces_, index / 2);
    }

    Shape shape_;
    std::array<Place, 2> places_;
    bool is_root_;
    std::uint64_t pieces_ = 1;                          ///< of each half
    std::uint64_t landing_ = 0;                         ///< elements of one landing slot
    std::array<std::vector<std::uint32_t>, 2> made_;    ///< by tree: the steps that reduced our pieces
    std::array<std::vector<std::uint32_t>, 2> sent_up_; ///< by tree: the steps that sent them to the parent
    RankPlan plan_;
};

} // namespace

RankPlan double_tree_broadcast(const Shape& shape) {
    if (shape.ranks == 1) return copy_alone(shape);
    if (shape.count == 0) return {};
    DoubleTree trees(shape);
    trees.pass_down(Buffer::input);
    return trees.take();
}

RankPlan double_tree_reduce(const Shape& shape) {
    if (shape.ranks == 1) return copy_alone(shape);
    if (shape.count == 0) return {};
    DoubleTree trees(shape);
    if (trees.is_root()) {
        trees.reduce_up(Buffer::output, 0);
    } else { // no output: what is reduced waits behind the landing places
        trees.need(trees.landings() + shape.count);
        trees.reduce_up(Buffer::scratch, trees.landings());
    }
    return trees.take();
}

RankPlan double_tree_all_reduce(const Shape& shape) {
    if (shape.ranks == 1) return copy_alone(shape);
    if (shape.count == 0) return {};
    Shape rooted = shape;
    rooted.root = 0;
    DoubleTree trees(rooted);
    trees.reduce_up(Buffer::output, 0);
    trees.pass_down(Buffer::output);
    return trees.take();
}

} // namespace verbena::coll
