#include "coll/algorithms.hpp"

#include "coll/binomial_tree.hpp"

namespace verbena::coll {
namespace {

/// One rank's way. Parts of the buffer are numbered as the tree's places: the scatter leaves each place with the parts
/// of its subtree, the ring brings the others.
class ScatterAllGather {
  public:
    explicit ScatterAllGather(const Shape& shape)
        : shape_(shape), tree_(shape), buffer_(tree_.is_root() ? Buffer::input : Buffer::output) {
        brought_.assign(shape.ranks, no_step);
    }

    RankPlan build() {
        scatter();
        for (std::uint32_t hop = 0; hop + 1 < shape_.ranks; ++hop) pass_on(hop);
        if (tree_.is_root()) {
            const Range output{Buffer::output, 0, shape_.count};
            plan_.add({StepKind::copy, 0, output, {Buffer::input, 0, shape_.count}, {}, sent_});
        }
        return std::move(plan_);
    }

  private:
    [[nodiscard]] Range part_of(std::uint32_t place) const noexcept {
        return part({buffer_, 0, shape_.count}, shape_.ranks, place);
    }
    [[nodiscard]] Range subtree(std::uint32_t place) const noexcept {
        const std::uint64_t begin = part_of(place).offset;
        return {buffer_, begin, part_of(place + tree_.subtree(place) - 1).end() - begin};
    }
    /// Whether a place has a part from the scatter.
    [[nodiscard]] bool has(std::uint32_t place, std::uint32_t which) const noexcept {
        return which >= place && which < place + tree_.subtree(place);
    }

    void send(std::uint32_t place, const Range& range, std::uint32_t after) {
        if (range.count == 0) return; // the receiver leaves it out as well
        sent_.push_back(plan_.add({StepKind::send, tree_.rank_at(place), {}, range, {}, {after}}));
    }
    [[nodiscard]] std::uint32_t receive(std::uint32_t rank, const Range& range) {
        return range.count == 0 ? no_step : plan_.add({StepKind::receive, rank, range, {}, {}, {}});
    }

    void scatter() {
        const std::uint32_t place = tree_.place();
        std::uint32_t received = no_step;
        if (!tree_.is_root()) received = receive(tree_.parent(), subtree(place));
        for (std::uint32_t which = place; which < place + tree_.subtree(place); ++which) brought_[which] = received;
        const std::vector<std::uint32_t> children = tree_.children();
        for (std::size_t child = children.size(); child-- > 0;)
            send(children[child], subtree(children[child]), received);
    }

    void pass_on(std::uint32_t hop) {
        const std::uint32_t place = tree_.place();
        const std::uint32_t next = (place + 1) % shape_.ranks;
        const std::uint32_t out = (place + shape_.ranks - hop) % shape_.ranks;
        const std::uint32_t in = (place + 2 * shape_.ranks - hop - 1) % shape_.ranks;
        if (!has(next, out)) send(next, part_of(out), brought_[out]);
        if (!has(place, in)) brought_[in] = receive(tree_.rank_at(place + shape_.ranks - 1), part_of(in));
    }

    Shape shape_;
    BinomialTree tree_;
    Buffer buffer_;                      ///< what is sent from: the root has all in its input
    std::vector<std::uint32_t> brought_; ///< by part: the step that brought it
    std::vector<std::uint32_t> sent_;
    RankPlan plan_;
};

} // namespace

RankPlan scatter_all_gather_broadcast(const Shape& shape) {
    if (shape.ranks == 1) return copy_alone(shape);
    if (shape.count == 0) return {};
    return ScatterAllGather(shape).build();
}

} // namespace verbena::coll
