#include "coll/interpreter.hpp"

#include <array>
#include <deque>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "coll/blocks.hpp"
#include "coll/contents.hpp"
#include "coll/extent.hpp"
#include "coll/rules.hpp"
#include "coll/schedule.hpp"
#include "coll/shapes.hpp"

namespace verbena::coll {
namespace {

/// Messages from one rank to another, in list order.
struct Lane {
    std::vector<std::uint32_t> sends;
    std::vector<std::uint32_t> receives;
    std::size_t passed = 0; ///< messages that have gone over
};

/// Runs every rank's part at once. Since the rules forbid races, one order of events stands for all.
class Walk {
  public:
    Walk(const Plan& plan, Collective collective, bool in_place)
        : plan_(plan),
          collective_(collective),
          ranks_(static_cast<std::uint32_t>(plan.ranks.size())),
          shapes_(plan, ranks_),
          in_place_(in_place) {
        lanes_.resize(std::size_t{ranks_} * ranks_);
        for (std::uint32_t rank = 0; rank < ranks_; ++rank) places_.push_back(make_place(rank));
    }

    std::optional<Fault> run() {
        for (std::uint32_t rank = 0; rank < ranks_; ++rank) awake_.push_back(rank);
        while (!awake_.empty() && !fault_) {
            const std::uint32_t rank = awake_.front();
            awake_.pop_front();
            start_what_can(rank);
        }
        if (!fault_) find_deadlock();
        for (std::uint32_t rank = 0; rank < ranks_ && !fault_; ++rank) {
            collective_ == Collective::barrier ? check_heard(rank) : check_output(rank);
        }
        return std::move(fault_);
    }

  private:
    /// One rank while the plan runs.
    struct Place {
        Schedule schedule;
        Extent extent;
        Frontier frontier;
        std::array<Contents, 3> buffers;
        std::vector<RankSet> heard; ///< by step: the ranks whose entering lies before its end
    };

    [[nodiscard]] Shape shape(std::uint32_t rank) const { return shapes_.of(rank); }

    Place make_place(std::uint32_t rank) {
        RankSet self(ranks_);
        self.insert(rank);
        Place place{Schedule(plan_.ranks[rank]),
                    extent_of(collective_, shape(rank)),
                    {},
                    {},
                    std::vector<RankSet>(plan_.ranks[rank].steps.size(), self)};
        place.frontier.restart(place.schedule);
        const std::uint64_t count = place.extent.input;
        if (count > 0) write(place, {Buffer::input, 0, count}, {{0, count, 0, self}});
        for (std::uint32_t index = 0; index < place.schedule.size(); ++index) {
            const Step& step = place.schedule.step(index);
            if (step.kind == StepKind::send) lane(rank, step.peer).sends.push_back(index);
            if (is_receive(step.kind)) lane(step.peer, rank).receives.push_back(index);
        }
        return place;
    }

    Lane& lane(std::uint32_t from, std::uint32_t to) { return lanes_[std::size_t{from} * ranks_ + to]; }
    /// A buffer and where the range begins in it.
    std::pair<Contents&, std::uint64_t> locate(Place& place, const Range& range) const {
        Contents& own = place.buffers[static_cast<std::size_t>(range.buffer)];
        if (!in_place_ || range.buffer == Buffer::scratch) return {own, range.offset};
        const bool is_input = range.buffer == Buffer::input;
        Contents& shared = place.buffers[static_cast<std::size_t>(Buffer::output)];
        return {shared, range.offset + (is_input ? place.extent.input_at : place.extent.output_at)};
    }
    Segments contents(Place& place, const Range& range) const {
        const auto [buffer, offset] = locate(place, range);
        return buffer.read(offset, range.count);
    }
    void write(Place& place, const Range& range, const Segments& segments) const {
        const auto [buffer, offset] = locate(place, range);
        buffer.write(offset, range.count, segments);
    }

    void fail(std::uint32_t rank, std::uint32_t step, const std::string& what) {
        if (!fault_) fault_ = fault_at(plan_, rank, step, what + (in_place_ ? " (in place)" : ""));
    }

    void start_what_can(std::uint32_t rank) {
        Place& place = places_[rank];
        while (!fault_ && place.frontier.next() != no_step) {
            const std::uint32_t index = place.frontier.next();
            const Step& step = place.schedule.step(index);
            place.frontier.started(place.schedule);
            if (step.kind == StepKind::send) {
                pass_messages(rank, step.peer);
            } else if (is_receive(step.kind)) {
                pass_messages(step.peer, rank);
            } else {
                compute(rank, index);
                finish(rank, index);
            }
        }
    }

    /// A message goes over when both ends have started it and the one before it has gone.
    void pass_messages(std::uint32_t from, std::uint32_t to) {
        Lane& lane = this->lane(from, to);
        while (!fault_ && lane.passed < lane.sends.size()) {
            const std::uint32_t send = lane.sends[lane.passed];
            const std::uint32_t receive = lane.receives[lane.passed];
            if (!places_[from].frontier.has_started(send) || !places_[to].frontier.has_started(receive)) return;
            ++lane.passed;
            const Segments message = read(from, send, places_[from].schedule.step(send).left);
            const Step& step = places_[to].schedule.step(receive);
            write(places_[to], message_range(step), message);
            hear(places_[to].heard[receive], places_[from], send);
            if (step.kind == StepKind::receive_reduce) compute(to, receive);
            finish(from, send);
            finish(to, receive);
        }
    }

    /// What a sender has heard of travels with its message.
    static void hear(RankSet& heard, const Place& sender, std::uint32_t send) {
        heard.merge(sender.heard[send]);
        for (const std::uint32_t earlier : sender.schedule.step(send).after) heard.merge(sender.heard[earlier]);
    }

    void finish(std::uint32_t rank, std::uint32_t index) {
        Place& place = places_[rank];
        for (const std::uint32_t earlier : place.schedule.step(index).after)
            place.heard[index].merge(place.heard[earlier]);
        place.frontier.finished(place.schedule, index);
        awake_.push_back(rank);
    }

    void compute(std::uint32_t rank, std::uint32_t index) {
        const Step& step = places_[rank].schedule.step(index);
        const Segments left = read(rank, index, step.left);
        if (step.kind == StepKind::copy) return write(places_[rank], step.target, left);
        const Segments right = read(rank, index, step.right);
        std::string problem;
        const Segments reduced = combine(left, right, ranks_, problem);
        if (!problem.empty()) fail(rank, index, problem);
        write(places_[rank], step.target, reduced);
    }

    Segments read(std::uint32_t rank, std::uint32_t index, const Range& range) {
        Segments segments = contents(places_[rank], range);
        if (const std::uint64_t gap = first_gap(segments, range.count); gap != range.count) {
            fail(rank, index,
                 fmt::format("reads {} [{}], which nothing has written", name(range.buffer), range.offset + gap));
        }
        return segments;
    }
    void find_deadlock() {
        for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
            const Place& place = places_[rank];
            if (place.frontier.is_done()) continue;
            for (std::uint32_t index = 0; index < place.schedule.size(); ++index) {
                if (place.frontier.has_finished(index)) continue;
                return fail(rank, index,
                            place.frontier.has_started(index) ? "waits for its peer for ever" : "never starts");
            }
        }
    }

    void check_output(std::uint32_t rank) {
        for (const Segment& wanted : result_of(collective_, shape(rank), plan_.counts)) {
            const Segments output = contents(places_[rank], {Buffer::output, wanted.offset, wanted.count});
            if (const std::uint64_t gap = first_gap(output, wanted.count); gap != wanted.count) {
                return fail(rank, no_step, fmt::format("output [{}] is never written", wanted.offset + gap));
            }
            for (const Segment& segment : output) check_segment(rank, wanted, segment);
        }
    }

    /// The offset of `found` counts from the start of `wanted`.
    void check_segment(std::uint32_t rank, const Segment& wanted, const Segment& found) {
        const std::uint64_t at = wanted.offset + found.offset;
        if (found.element != wanted.element + found.offset) {
            return fail(rank, no_step, fmt::format("output [{}] holds element {}", at, found.element));
        }
        for (std::uint32_t other = 0; other < ranks_; ++other) {
            const bool is_there = found.contributors.contains(other);
            if (is_there == wanted.contributors.contains(other)) continue;
            return fail(rank, no_step,
                        fmt::format("output [{}] {} rank {}'s contribution", at,
                                    is_there ? "has, and should not," : "lacks", other));
        }
    }

    void check_heard(std::uint32_t rank) {
        RankSet heard(ranks_);
        heard.insert(rank);
        for (const RankSet& by_step : places_[rank].heard) heard.merge(by_step);
        if (const std::uint32_t absent = heard.first_absent(ranks_); absent != ranks_) {
            fail(rank, no_step, fmt::format("is done without having heard of rank {}", absent));
        }
    }

    const Plan& plan_;
    Collective collective_;
    std::uint32_t ranks_;
    Shapes shapes_;
    bool in_place_;
    std::vector<Lane> lanes_; ///< by sender * ranks + receiver
    std::vector<Place> places_;
    std::deque<std::uint32_t> awake_; ///< ranks that may have something to start
    std::optional<Fault> fault_;
};

} // namespace

Segments result_of(Collective collective, const Shape& shape, std::span<const std::uint64_t> matrix) {
    const std::uint64_t count = shape.count;
    const Blocks blocks(shape);
    const std::uint64_t own = blocks.begin(shape.rank);
    const std::uint64_t own_count = blocks.count(shape.rank);
    RankSet everyone(shape.ranks);
    RankSet below(shape.ranks);
    std::vector<RankSet> alone(shape.ranks, RankSet(shape.ranks));
    for (std::uint32_t rank = 0; rank < shape.ranks; ++rank) {
        everyone.insert(rank);
        if (rank < shape.rank) below.insert(rank);
        alone[rank].insert(rank);
    }
    Segments wanted;
    const auto block_of_each = [&] {
        for (std::uint32_t rank = 0; rank < shape.ranks; ++rank)
            wanted.push_back({blocks.begin(rank), blocks.count(rank), 0, alone[rank]});
    };
    switch (collective) {
    case Collective::barrier:
        break;
    case Collective::all_reduce:
        wanted = {{0, count, 0, everyone}};
        break;
    case Collective::scan:
        below.insert(shape.rank);
        wanted = {{0, count, 0, below}};
        break;
    case Collective::exclusive_scan:
        if (shape.rank > 0) wanted = {{0, count, 0, below}};
        break;
    case Collective::broadcast:
        wanted = {{0, count, 0, alone[shape.root]}};
        break;
    case Collective::reduce:
        if (shape.rank == shape.root) wanted = {{0, count, 0, everyone}};
        break;
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_v:
        wanted = {{0, own_count, own, everyone}};
        break;
    case Collective::gather:
    case Collective::gather_v:
        if (shape.rank == shape.root) block_of_each();
        break;
    case Collective::all_gather:
    case Collective::all_gather_v:
        block_of_each();
        break;
    case Collective::scatter:
    case Collective::scatter_v:
        wanted = {{0, own_count, own, alone[shape.root]}};
        break;
    case Collective::all_to_all:
        for (std::uint32_t rank = 0; rank < shape.ranks; ++rank)
            wanted.push_back({rank * count, count, own, alone[rank]});
        break;
    case Collective::all_to_all_v: {
        const Blocks to_us(0, shape.receives);
        for (std::uint32_t rank = 0; rank < shape.ranks; ++rank) {
            const Blocks theirs(0, matrix.subspan(std::size_t{rank} * shape.ranks, shape.ranks));
            wanted.push_back({to_us.begin(rank), to_us.count(rank), theirs.begin(shape.rank), alone[rank]});
        }
        break;
    }
    }
    std::erase_if(wanted, [](const Segment& segment) { return segment.count == 0; });
    return wanted;
}

std::optional<Fault> find_fault(const Plan& plan, Collective collective) {
    const bool may_share =
        extent_of(collective, Shapes(plan, static_cast<std::uint32_t>(plan.ranks.size())).of(0)).may_share;
    // In place only adds overlaps, so the rules are read that way; a fault that is there anyway is told as such.
    if (std::optional<Fault> first = broken_rule(plan, collective, may_share)) {
        std::optional<Fault> always = broken_rule(plan, collective, false);
        return always ? always : first;
    }
    for (const bool in_place : {false, true}) {
        if (in_place && !may_share) break;
        if (std::optional<Fault> fault = Walk(plan, collective, in_place).run()) return fault;
    }
    return std::nullopt;
}

} // namespace verbena::coll
