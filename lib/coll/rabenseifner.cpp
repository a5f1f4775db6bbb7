#include "coll/algorithms.hpp"

#include <bit>
#include <utility>

namespace verbena::coll {
namespace {

/// One rank's way. The output is cut into a part for each place; a span of parts is what a hop carries.
class HalvingDoubling {
  public:
    explicit HalvingDoubling(const Shape& shape)
        : shape_(shape),
          power_(std::bit_floor(shape.ranks)),
          folded_(shape.ranks - power_),
          whole_{Buffer::output, 0, shape.count} {}

    RankPlan build() {
        const bool is_folded = shape_.rank < 2 * folded_;
        if (is_folded && shape_.rank % 2 == 0) {
            hand_over();
            return std::move(plan_);
        }
        if (is_folded) reduce(shape_.rank - 1, whole_);
        place_ = is_folded ? shape_.rank / 2 : shape_.rank - folded_;
        span_ = {0, power_};
        for (std::uint32_t distance = power_ / 2; distance > 0; distance /= 2) halve(distance);
        held_ = {made_};
        for (std::uint32_t distance = 1; distance < power_; distance *= 2) double_up(distance);
        if (is_folded) plan_.add({StepKind::send, shape_.rank - 1, {}, whole_, {}, held_});
        return std::move(plan_);
    }

  private:
    /// Parts [first, first + parts).
    struct Span {
        std::uint32_t first = 0;
        std::uint32_t parts = 0;
    };

    [[nodiscard]] std::uint32_t peer_at(std::uint32_t distance) const noexcept {
        const std::uint32_t place = place_ ^ distance;
        return place < folded_ ? 2 * place + 1 : place + folded_;
    }
    [[nodiscard]] Range range(Buffer buffer, const Span& span) const noexcept {
        const std::uint64_t begin = part(whole_, power_, span.first).offset;
        return {buffer, begin, part(whole_, power_, span.first + span.parts - 1).end() - begin};
    }
    /// The span beside ours that `distance` tells apart from it.
    [[nodiscard]] Span sibling(std::uint32_t distance) const noexcept { return {span_.first ^ distance, distance}; }

    /// The result may overwrite what was sent (in place), so after it.
    void hand_over() {
        const Range input{Buffer::input, 0, shape_.count};
        const std::uint32_t sent = plan_.add({StepKind::send, shape_.rank + 1, {}, input, {}, {}});
        plan_.add({StepKind::receive, shape_.rank + 1, whole_, {}, {}, {sent}});
    }

    /// Takes the peer's values of a range in; the lower rank's part is the left operand.
    void reduce(std::uint32_t peer, const Range& target) {
        Range left{value_, target.offset, target.count};
        Range right{Buffer::scratch, plan_.scratch, target.count};
        plan_.scratch += target.count;
        const std::uint32_t received = plan_.add({StepKind::receive, peer, right, {}, {}, {}});
        if (peer < shape_.rank) std::swap(left, right);
        made_ = plan_.add({StepKind::reduce, 0, target, left, right, {received, made_}});
        value_ = Buffer::output;
    }

    void halve(std::uint32_t distance) {
        span_ = {span_.first + ((place_ & distance) != 0 ? distance : 0), distance};
        const Range given = range(value_, sibling(distance));
        const Range kept = range(Buffer::output, span_);
        std::uint32_t sent = no_step;
        if (given.count > 0) sent = plan_.add({StepKind::send, peer_at(distance), {}, given, {}, {made_}});
        given_.push_back(sent);
        if (kept.count > 0) reduce(peer_at(distance), kept);
    }

    /// Overwrites what was given away, so after it.
    void double_up(std::uint32_t distance) {
        const Range ours = range(Buffer::output, span_);
        const Range theirs = range(Buffer::output, sibling(distance));
        if (ours.count > 0) plan_.add({StepKind::send, peer_at(distance), {}, ours, {}, held_});
        if (theirs.count > 0) {
            held_.push_back(plan_.add({StepKind::receive, peer_at(distance), theirs, {}, {}, {given_.back()}}));
        }
        given_.pop_back();
        span_ = {span_.first & ~distance, 2 * distance};
    }

    Shape shape_;
    std::uint32_t power_;  ///< ranks that take part in the hops
    std::uint32_t folded_; ///< ranks that hand over to their neighbour: the even ones below 2 * folded_
    Range whole_;
    std::uint32_t place_ = 0; ///< among those that take part
    Span span_;               ///< what we hold the value of
    Buffer value_ = Buffer::input;
    std::uint32_t made_ = no_step;     ///< the step that wrote the value
    std::vector<std::uint32_t> given_; ///< by halving: the step that sent the other half
    std::vector<std::uint32_t> held_;  ///< the steps that wrote the result so far
    RankPlan plan_;
};

} // namespace

RankPlan rabenseifner_all_reduce(const Shape& shape) {
    if (shape.ranks == 1) return copy_alone(shape);
    if (shape.count == 0) return {};
    return HalvingDoubling(shape).build();
}

} // namespace verbena::coll
