#include "coll/algorithms.hpp"

#include <bit>
#include <utility>

namespace verbena::coll {
namespace {

/// One rank's rounds. The value so far is in `value_`: the input, until the first reduction puts it into the output.
class Doubling {
  public:
    explicit Doubling(const Shape& shape)
        : shape_(shape),
          power_(std::bit_floor(shape.ranks)),
          folded_(shape.ranks - power_),
          value_{Buffer::input, 0, shape.count},
          output_{Buffer::output, 0, shape.count} {
        plan_.scratch = 2 * shape.count;
    }

    RankPlan build() {
        const bool is_folded = shape_.rank < 2 * folded_;
        if (is_folded && shape_.rank % 2 == 0) {
            hand_over();
            return std::move(plan_);
        }
        if (is_folded) combine(receive(shape_.rank - 1), no_step, true);
        const std::uint32_t place = is_folded ? shape_.rank / 2 : shape_.rank - folded_;
        for (std::uint32_t distance = 1; distance < power_; distance *= 2) {
            const std::uint32_t peer = rank_at(place ^ distance);
            const std::uint32_t sent = send(peer);
            combine(receive(peer), sent, peer < shape_.rank);
        }
        if (is_folded) send(shape_.rank - 1);
        return std::move(plan_);
    }

  private:
    /// The real rank of a place among the power of two that take part in the rounds.
    [[nodiscard]] std::uint32_t rank_at(std::uint32_t place) const noexcept {
        return place < folded_ ? 2 * place + 1 : place + folded_;
    }

    /// The result may overwrite what was sent (in place), so after it.
    void hand_over() {
        const std::uint32_t sent = send(shape_.rank + 1);
        plan_.scratch = 0;
        plan_.add({StepKind::receive, shape_.rank + 1, output_, {}, {}, {sent}});
    }
    std::uint32_t send(std::uint32_t peer) { return plan_.add({StepKind::send, peer, {}, value_, {}, {made_}}); }
    /// Into the landing place that the round before the last has freed.
    std::uint32_t receive(std::uint32_t peer) {
        return plan_.add({StepKind::receive, peer, landing(), {}, {}, {slot_user_[slot_]}});
    }
    void combine(std::uint32_t received, std::uint32_t sent, bool peer_is_lower) {
        Range left = value_;
        Range right = landing();
        if (peer_is_lower) std::swap(left, right);
        made_ = plan_.add({StepKind::reduce, 0, output_, left, right, {received, sent, made_}});
        slot_user_[slot_] = made_;
        slot_ ^= 1;
        value_ = output_;
    }
    [[nodiscard]] Range landing() const noexcept { return {Buffer::scratch, slot_ * shape_.count, shape_.count}; }

    Shape shape_;
    std::uint32_t power_;  ///< ranks that take part in the rounds
    std::uint32_t folded_; ///< ranks that hand over to their neighbour: the even ones below 2 * folded_
    Range value_;
    Range output_;
    std::uint32_t made_ = no_step; ///< the step that wrote value_
    std::uint32_t slot_user_[2] = {no_step, no_step};
    std::uint32_t slot_ = 0;
    RankPlan plan_;
};

} // namespace

RankPlan recursive_doubling_all_reduce(const Shape& shape) {
    if (shape.ranks == 1) return copy_alone(shape);
    if (shape.count == 0) return {};
    return Doubling(shape).build();
}

} // namespace verbena::coll
