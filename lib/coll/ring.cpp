#include "coll/algorithms.hpp"

#include <utility>

namespace verbena::coll {
namespace {

/// Landing places of the reduce-scatter: one message is reduced while the next arrives.
constexpr std::uint64_t landing_slots = 2;

/// One rank's way round the ring. Chunk c ends up complete on rank c - 1 and goes round from there.
class Ring {
  public:
    explicit Ring(const Shape& shape) : shape_(shape) {
        const std::uint64_t longest = part(whole(Buffer::input), shape.ranks, 0).count;
        pieces_ = pieces_of(longest, shape.segment);
        landing_ = (longest + pieces_ - 1) / pieces_;
        made_.assign(shape.ranks * pieces_, no_step);
        sent_.assign(shape.ranks * pieces_, no_step);
        plan_.scratch = landing_slots * landing_;
    }

    RankPlan build() {
        const std::uint32_t hops = shape_.ranks - 1;
        for (std::uint32_t hop = 0; hop < hops; ++hop) {
            for (std::uint64_t piece = 0; piece < pieces_; ++piece) {
                send(back(hop), piece, hop == 0 ? Buffer::input : Buffer::output);
                receive_reduce(back(hop + 1), piece);
            }
        }
        for (std::uint32_t hop = 0; hop < hops; ++hop) {
            for (std::uint64_t piece = 0; piece < pieces_; ++piece) {
                send(back(hop + shape_.ranks - 1), piece, Buffer::output);
                receive(back(hop), piece);
            }
        }
        return std::move(plan_);
    }

  private:
    [[nodiscard]] Range whole(Buffer buffer) const noexcept { return {buffer, 0, shape_.count}; }
    [[nodiscard]] Range range(Buffer buffer, std::uint64_t chunk, std::uint64_t piece) const noexcept {
        return part(part(whole(buffer), shape_.ranks, chunk), pieces_, piece);
    }
    /// The chunk `distance` places behind our own; below 2 * ranks.
    [[nodiscard]] std::uint64_t back(std::uint64_t distance) const noexcept {
        return (shape_.rank + 2 * std::uint64_t{shape_.ranks} - distance) % shape_.ranks;
    }
    [[nodiscard]] std::uint32_t next() const noexcept { return (shape_.rank + 1) % shape_.ranks; }
    [[nodiscard]] std::uint32_t previous() const noexcept { return (shape_.rank + shape_.ranks - 1) % shape_.ranks; }

    void send(std::uint64_t chunk, std::uint64_t piece, Buffer from) {
        const Range source = range(from, chunk, piece);
        if (source.count == 0) return; // the receiver leaves it out as well
        const std::uint64_t at = chunk * pieces_ + piece;
        sent_[at] = plan_.add({StepKind::send, next(), {}, source, {}, {made_[at]}});
    }
    void receive_reduce(std::uint64_t chunk, std::uint64_t piece) {
        const Range target = range(Buffer::output, chunk, piece);
        if (target.count == 0) return;
        std::uint32_t& slot_user = slot_user_[slot_];
        slot_user = plan_.add({StepKind::receive_reduce,
                               previous(),
                               target,
                               range(Buffer::input, chunk, piece),
                               {Buffer::scratch, slot_ * landing_, target.count},
                               {slot_user}});
        made_[chunk * pieces_ + piece] = slot_user;
        slot_ = (slot_ + 1) % landing_slots;
    }
    /// Overwrites the partial sum, so after the send that passed it on.
    void receive(std::uint64_t chunk, std::uint64_t piece) {
        const Range target = range(Buffer::output, chunk, piece);
        if (target.count == 0) return;
        const std::uint64_t at = chunk * pieces_ + piece;
        made_[at] = plan_.add({StepKind::receive, previous(), target, {}, {}, {sent_[at]}});
    }

    Shape shape_;
    std::uint64_t pieces_ = 1;
    std::uint64_t landing_ = 0;       ///< elements of one landing slot
    std::vector<std::uint32_t> made_; ///< by chunk and piece: the step that wrote our value of it
    std::vector<std::uint32_t> sent_; ///< by chunk and piece: the step that sent it
    std::uint32_t slot_user_[landing_slots] = {no_step, no_step};
    std::uint64_t slot_ = 0;
    RankPlan plan_;
};

} // namespace

RankPlan ring_all_reduce(const Shape& shape) { return shape.ranks == 1 ? copy_alone(shape) : Ring(shape).build(); }

} // namespace verbena::coll
