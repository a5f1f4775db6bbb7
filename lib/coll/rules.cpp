#include "coll/rules.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "coll/extent.hpp"
#include "coll/rank_set.hpp"
#include "coll/shapes.hpp"

namespace verbena::coll {
namespace {

/// At most two ranges; an empty one touches nothing.
using Ranges = std::array<Range, 2>;

/// What a step reads and writes.
struct Footprint {
    Ranges reads;
    Ranges writes;
};

/// Where a range lies in the memory that input and output share in place.
Range shared(Range range, const Extent& extent) {
    if (range.buffer == Buffer::input)
        range = {Buffer::output, range.offset + extent.input_at, range.count};
    else if (range.buffer == Buffer::output)
        range.offset += extent.output_at;
    return range;
}

/// In place where an extent is given.
Footprint footprint(const Step& step, const Extent* in_place) {
    constexpr Range none{Buffer::output, 0, 0};
    Footprint touched;
    switch (step.kind) {
    case StepKind::send:
        touched = {{step.left, none}, {none, none}};
        break;
    case StepKind::receive:
        touched = {{none, none}, {step.target, none}};
        break;
    case StepKind::receive_reduce:
        touched = {{step.left, none}, {step.target, step.right}};
        break;
    case StepKind::copy:
        touched = {{step.left, none}, {step.target, none}};
        break;
    case StepKind::reduce:
        touched = {{step.left, step.right}, {step.target, none}};
        break;
    }
    if (in_place != nullptr) {
        for (auto* ranges : {&touched.reads, &touched.writes}) {
            for (Range& range : *ranges) range = shared(range, *in_place);
        }
    }
    return touched;
}

bool overlap(const Range& a, const Range& b) {
    return a.count > 0 && b.count > 0 && a.buffer == b.buffer && a.offset < b.end() && b.offset < a.end();
}

/// A range of `a` that meets one of `b`, or null.
const Range* common(const Ranges& a, const Ranges& b) {
    for (const Range& x : a) {
        if (x.count == 0) continue;
        for (const Range& y : b) {
            if (overlap(x, y)) return &x;
        }
    }
    return nullptr;
}

/// Checks one rank's part; `found` keeps the first fault.
class RankRules {
  public:
    RankRules(const Plan& plan, std::uint32_t rank, const Extent& extent, bool in_place)
        : plan_(plan), part_(plan.ranks[rank]), rank_(rank), extent_(extent), in_place_(in_place) {}

    std::optional<Fault> check() {
        for (std::uint32_t index = 0; index < part_.steps.size() && !found_; ++index) check_step(index);
        if (!found_) check_races();
        return std::move(found_);
    }

  private:
    void fail(std::uint32_t step, const std::string& what) {
        if (!found_) found_ = fault_at(plan_, rank_, step, what);
    }

    void check_step(std::uint32_t index) {
        const Step& step = part_.steps[index];
        for (const std::uint32_t earlier : step.after) {
            if (earlier >= index) return fail(index, fmt::format("waits for step {}, which is not before it", earlier));
        }
        if (is_message(step.kind) && (step.peer >= plan_.ranks.size() || step.peer == rank_)) {
            return fail(index, fmt::format("rank {} cannot be its peer among {} ranks", step.peer, plan_.ranks.size()));
        }
        const Footprint touched = footprint(step, nullptr);
        for (const Range& range : touched.reads) check_bounds(index, range);
        for (const Range& range : touched.writes) {
            check_bounds(index, range);
            if (range.buffer == Buffer::input) fail(index, "writes to the input");
        }
        check_operands(index, step);
    }

    void check_bounds(std::uint32_t index, const Range& range) {
        const std::uint64_t limit = range.buffer == Buffer::scratch ? part_.scratch
                                    : range.buffer == Buffer::input ? extent_.input
                                                                    : extent_.output;
        if (range.count > limit || range.offset > limit - range.count) {
            fail(index, fmt::format("{} has {} elements, {} are needed", name(range.buffer), limit, range.end()));
        }
    }

    /// Operands are of one length, and the target is an operand or apart from it. A message lands apart from both.
    void check_operands(std::uint32_t index, const Step& step) {
        if (step.kind == StepKind::send || step.kind == StepKind::receive) return;
        const bool has_right = step.kind != StepKind::copy;
        if (step.left.count != step.target.count || (has_right && step.right.count != step.target.count)) {
            return fail(index, "its ranges differ in length");
        }
        if (overlaps_partly(step.target, step.left)) return fail(index, "its target overlaps its left operand");
        if (has_right && overlaps_partly(step.target, step.right)) fail(index, "its target overlaps its right operand");
        if (step.kind == StepKind::receive_reduce &&
            (overlap(step.right, step.left) || overlap(step.right, step.target))) {
            fail(index, "its message lands on an operand");
        }
    }

    [[nodiscard]] bool overlaps_partly(Range target, Range operand) const {
        if (in_place_) {
            target = shared(target, extent_);
            operand = shared(operand, extent_);
        }
        return overlap(target, operand) && !(target == operand);
    }

    /// Two steps may overlap in time unless one comes after the other through `after`, directly or through others.
    void check_races() {
        const auto steps = static_cast<std::uint32_t>(part_.steps.size());
        std::vector<Footprint> touched;
        std::vector<RankSet> before; // a set of steps: those that must be finished
        for (std::uint32_t index = 0; index < steps; ++index) {
            touched.push_back(footprint(part_.steps[index], in_place_ ? &extent_ : nullptr));
            before.emplace_back(steps);
            for (const std::uint32_t earlier : part_.steps[index].after) {
                before[index].merge(before[earlier]);
                before[index].insert(earlier);
            }
            for (std::uint32_t other = 0; other < index; ++other) {
                if (before[index].contains(other)) continue;
                const Range* range = common(touched[index].writes, touched[other].writes);
                if (range == nullptr) range = common(touched[index].writes, touched[other].reads);
                if (range == nullptr) range = common(touched[index].reads, touched[other].writes);
                if (range == nullptr) continue;
                return fail(index, fmt::format("races with step {} ({}) for {}{}", other, describe(part_.steps[other]),
                                               describe(*range), in_place_ ? " (in place)" : ""));
            }
        }
    }

    const Plan& plan_;
    const RankPlan& part_;
    std::uint32_t rank_;
    Extent extent_;
    bool in_place_;
    std::optional<Fault> found_;
};

/// The sends of `from` to `to`, or the receives there from `from`, in list order.
std::vector<std::uint32_t> messages(const Plan& plan, std::uint32_t at, std::uint32_t peer, bool receives) {
    std::vector<std::uint32_t> found;
    const std::vector<Step>& steps = plan.ranks[at].steps;
    for (std::uint32_t index = 0; index < steps.size(); ++index) {
        if (is_message(steps[index].kind) && is_receive(steps[index].kind) == receives && steps[index].peer == peer) {
            found.push_back(index);
        }
    }
    return found;
}

std::optional<Fault> check_pair(const Plan& plan, std::uint32_t from, std::uint32_t to) {
    const std::vector<std::uint32_t> sends = messages(plan, from, to, false);
    const std::vector<std::uint32_t> receives = messages(plan, to, from, true);
    for (std::size_t i = 0; i < std::min(sends.size(), receives.size()); ++i) {
        const std::uint64_t sent = message_range(plan.ranks[from].steps[sends[i]]).count;
        const std::uint64_t expected = message_range(plan.ranks[to].steps[receives[i]]).count;
        if (sent == expected) continue;
        return fault_at(
            plan, to, receives[i],
            fmt::format("expects {} elements, step {} of rank {} sends {}", expected, sends[i], from, sent));
    }
    if (sends.size() > receives.size()) {
        return fault_at(plan, from, sends[receives.size()], fmt::format("rank {} does not receive it", to));
    }
    if (receives.size() > sends.size()) {
        return fault_at(plan, to, receives[sends.size()], fmt::format("rank {} does not send it", from));
    }
    return std::nullopt;
}

} // namespace

Fault fault_at(const Plan& plan, std::uint32_t rank, std::uint32_t step, const std::string& what) {
    if (step == no_step) return {rank, step, fmt::format("rank {}: {}", rank, what)};
    return {rank, step,
            fmt::format("rank {}, step {} ({}): {}", rank, step, describe(plan.ranks[rank].steps[step]), what)};
}

std::optional<Fault> broken_rule(const Plan& plan, Collective collective, bool in_place) {
    const auto ranks = static_cast<std::uint32_t>(plan.ranks.size());
    const Shapes shapes(plan, ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const Extent extent = extent_of(collective, shapes.of(rank));
        if (std::optional<Fault> fault = RankRules(plan, rank, extent, in_place).check()) return fault;
    }
    for (std::uint32_t from = 0; from < ranks; ++from) {
        for (std::uint32_t to = 0; to < ranks; ++to) {
            if (std::optional<Fault> fault = check_pair(plan, from, to)) return fault;
        }
    }
    return std::nullopt;
}

} // namespace verbena::coll
