#include "catch.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "coll/algorithms.hpp"
#include "coll/interpreter.hpp"
#include "coll/selection.hpp"

using namespace verbena::coll;
using verbena::Collective;

namespace {

constexpr Range in(std::uint64_t offset, std::uint64_t count) { return {Buffer::input, offset, count}; }
constexpr Range out(std::uint64_t offset, std::uint64_t count) { return {Buffer::output, offset, count}; }
constexpr Range scratch(std::uint64_t offset, std::uint64_t count) { return {Buffer::scratch, offset, count}; }

/// Two ranks, two elements: both exchange everything and reduce. The base that faults are written into.
Plan exchange() {
    Plan plan;
    plan.count = 2;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
        const std::uint32_t peer = 1 - rank;
        RankPlan part;
        part.scratch = 2;
        part.add({StepKind::send, peer, {}, in(0, 2), {}, {}});
        part.add({StepKind::receive, peer, scratch(0, 2), {}, {}, {}});
        part.add({StepKind::reduce, 0, out(0, 2), in(0, 2), scratch(0, 2), {0, 1}});
        plan.ranks.push_back(part);
    }
    return plan;
}

std::string sentence(const Plan& plan, Collective collective = Collective::all_reduce) {
    const std::optional<Fault> fault = find_fault(plan, collective);
    return fault ? fault->sentence : "sound";
}

Step& step(Plan& plan, std::uint32_t rank, std::uint32_t index) { return plan.ranks[rank].steps[index]; }

} // namespace

TEST_CASE("the first fault is told with its rank and step") {
    Plan plan = exchange();
    REQUIRE(sentence(plan) == "sound");
    SECTION("a range beyond its buffer") {
        step(plan, 1, 1).target = scratch(1, 2);
        CHECK(sentence(plan) ==
              "rank 1, step 1 (receive scratch [1, 3) from rank 0): scratch has 2 elements, 3 are needed");
    }
    SECTION("a range longer than its buffer") {
        plan.ranks[1].scratch = 1;
        CHECK_THAT(sentence(plan),
                   VERBENA_CONTAINS("rank 1, step 1") && VERBENA_CONTAINS("scratch has 1 elements, 2 are needed"));
    }
    SECTION("an input that is read after the result has gone over it, which only happens in place") {
        step(plan, 1, 1).target = out(0, 2);
        step(plan, 1, 1).after = {0};
        step(plan, 1, 2).right = out(0, 2);
        CHECK_THAT(sentence(plan),
                   VERBENA_CONTAINS("rank 1, step 2") &&
                       VERBENA_CONTAINS("rank 0's contribution to element 0 would count twice (in place)"));
    }
    SECTION("an offset that wraps") {
        step(plan, 0, 0).left = in(~std::uint64_t{0}, 2);
        CHECK_THAT(sentence(plan), VERBENA_CONTAINS("rank 0, step 0") && VERBENA_CONTAINS("input has 2 elements"));
    }
    SECTION("a write to the input") {
        step(plan, 0, 1).target = in(0, 2);
        CHECK_THAT(sentence(plan), VERBENA_CONTAINS("rank 0, step 1") && VERBENA_CONTAINS("writes to the input"));
    }
    SECTION("a peer that is not there") {
        step(plan, 0, 0).peer = 2;
        CHECK_THAT(sentence(plan), VERBENA_CONTAINS("rank 2 cannot be its peer among 2 ranks"));
    }
    SECTION("a wait for a later step") {
        step(plan, 0, 1).after = {2};
        CHECK_THAT(sentence(plan), VERBENA_CONTAINS("waits for step 2, which is not before it"));
    }
    SECTION("sizes that differ at the two ends") {
        step(plan, 0, 0).left = in(0, 1);
        CHECK_THAT(sentence(plan), VERBENA_CONTAINS("rank 1, step 1") &&
                                       VERBENA_CONTAINS("expects 2 elements, step 0 of rank 0 sends 1"));
    }
    SECTION("a message that nobody receives") {
        plan.ranks[0].add({StepKind::send, 1, {}, in(0, 1), {}, {}});
        CHECK_THAT(sentence(plan),
                   VERBENA_CONTAINS("rank 0, step 3") && VERBENA_CONTAINS("rank 1 does not receive it"));
    }
    SECTION("a message that nobody sends") {
        plan.ranks[0].add({StepKind::receive, 1, scratch(0, 1), {}, {}, {2}});
        CHECK_THAT(sentence(plan), VERBENA_CONTAINS("rank 0, step 3") && VERBENA_CONTAINS("rank 1 does not send it"));
    }
    SECTION("scratch that nothing has written") {
        plan.ranks[1].scratch = 4;
        step(plan, 1, 2).right = scratch(1, 2);
        CHECK_THAT(sentence(plan), VERBENA_CONTAINS("rank 1, step 2") &&
                                       VERBENA_CONTAINS("reads scratch [2], which nothing has written"));
    }
    SECTION("a step that does not wait for what it reads") {
        step(plan, 1, 2).after = {0};
        CHECK_THAT(sentence(plan), VERBENA_CONTAINS("races with step 1 (receive scratch [0, 2) from rank 0)"));
    }
    SECTION("a write under a send, which only happens in place") {
        step(plan, 1, 2).after = {1};
        CHECK_THAT(sentence(plan), VERBENA_CONTAINS("rank 1, step 2") && VERBENA_CONTAINS("races with step 0") &&
                                       VERBENA_CONTAINS("(in place)"));
    }
    SECTION("operands that are shifted against each other") {
        step(plan, 0, 2).target = out(0, 1);
        step(plan, 0, 2).left = in(0, 1);
        step(plan, 0, 2).right = scratch(1, 1);
        CHECK_THAT(sentence(plan),
                   VERBENA_CONTAINS("rank 0, step 2") && VERBENA_CONTAINS("element 0 would be reduced with element 1"));
    }
    SECTION("a target that overlaps an operand in part") {
        plan.ranks[0].scratch = 4;
        plan.ranks[0].add({StepKind::copy, 0, scratch(1, 2), scratch(0, 2), {}, {2}});
        CHECK_THAT(sentence(plan),
                   VERBENA_CONTAINS("rank 0, step 3") && VERBENA_CONTAINS("its target overlaps its left operand"));
    }
    SECTION("a contribution that counts twice") {
        plan.ranks[0].add({StepKind::reduce, 0, out(0, 2), out(0, 2), scratch(0, 2), {2}});
        CHECK_THAT(sentence(plan), VERBENA_CONTAINS("rank 0, step 3") &&
                                       VERBENA_CONTAINS("rank 1's contribution to element 0 would count twice"));
    }
    SECTION("a contribution that is missing") {
        step(plan, 1, 2) = {StepKind::copy, 0, out(0, 2), in(0, 2), {}, {0, 1}};
        CHECK_THAT(sentence(plan), VERBENA_CONTAINS("rank 1: output [0] lacks rank 0's contribution"));
    }
    SECTION("an output that is written in part") {
        for (Range* range : {&step(plan, 1, 2).target, &step(plan, 1, 2).left, &step(plan, 1, 2).right})
            range->count = 1;
        CHECK_THAT(sentence(plan), VERBENA_CONTAINS("rank 1: output [1] is never written"));
    }
    SECTION("an output in the wrong place") {
        plan.ranks[1].add({StepKind::copy, 0, scratch(0, 1), out(0, 1), {}, {2}});
        plan.ranks[1].add({StepKind::copy, 0, out(1, 1), scratch(0, 1), {}, {3}});
        CHECK_THAT(sentence(plan), VERBENA_CONTAINS("rank 1: output [1] holds element 0"));
    }
    SECTION("sends that wait for receives in a circle") {
        for (std::uint32_t rank = 0; rank < 2; ++rank) step(plan, rank, 1).after = {0};
        CHECK(sentence(plan) == "rank 0, step 0 (send input [0, 2) to rank 1): waits for its peer for ever");
    }
}

TEST_CASE("a barrier that lets a rank go before it has heard from all is rejected") {
    Plan plan = whole_plan(dissemination_barrier, {0, 5, 0, 0});
    REQUIRE(sentence(plan, Collective::barrier) == "sound");
    for (RankPlan& part : plan.ranks) {
        for (Step& each : part.steps) each.after.clear();
    }
    CHECK_THAT(sentence(plan, Collective::barrier), VERBENA_CONTAINS("rank 0: is done without having heard of rank"));
}

namespace {

/// Removes a step; what waited for it waits for what it waited for.
void drop(RankPlan& part, std::uint32_t index) {
    const std::vector<std::uint32_t> inherited = part.steps[index].after;
    part.steps.erase(part.steps.begin() + index);
    for (Step& later : part.steps) {
        std::vector<std::uint32_t> after;
        for (const std::uint32_t earlier : later.after) {
            if (earlier == index) after.insert(after.end(), inherited.begin(), inherited.end());
            if (earlier != index) after.push_back(earlier > index ? earlier - 1 : earlier);
        }
        later.after = after;
    }
}

/// One of the step's ranges; not the place where a received message waits to be reduced, which is free to move.
Range* some_range(Step& step, std::mt19937_64& random) {
    std::vector<Range*> ranges;
    for (Range* range : {&step.target, &step.left, &step.right}) {
        const bool is_landing = step.kind == StepKind::receive_reduce && range == &step.right;
        if (range->count > 0 && !is_landing) ranges.push_back(range);
    }
    return ranges[random() % ranges.size()];
}

enum class Mutation : std::uint8_t {
    drop_step,
    shift_range,
    shorten_range,
    repeat_reduction,
    swap_messages,
    change_peer
};

bool joined_by_one_reduction(const RankPlan& part, Range one, Range other) {
    return std::ranges::any_of(part.steps, [&](const Step& step) {
        return step.kind == StepKind::reduce &&
               ((step.left == one && step.right == other) || (step.left == other && step.right == one));
    });
}

/// Breaks one step. False when this step cannot be broken that way.
bool mutate(Plan& plan, Mutation mutation, std::uint32_t rank, std::uint32_t index, std::mt19937_64& random) {
    RankPlan& part = plan.ranks[rank];
    Step& chosen = part.steps[index];
    Range* range = some_range(chosen, random);
    switch (mutation) {
    case Mutation::drop_step:
        drop(part, index);
        return true;
    case Mutation::shift_range:
        ++range->offset;
        return true;
    case Mutation::shorten_range:
        --range->count;
        return true;
    case Mutation::repeat_reduction: {
        if (chosen.kind != StepKind::reduce && chosen.kind != StepKind::receive_reduce) return false;
        const Step again{StepKind::reduce, 0, chosen.target, chosen.target, chosen.right, {index}};
        part.add(again); // last of all: only the contributors can give it away, or a race
        return true;
    }
    case Mutation::swap_messages: {
        for (std::uint32_t later = index + 1; later < part.steps.size(); ++later) {
            Step& other = part.steps[later];
            if (other.kind != chosen.kind || !is_message(chosen.kind) || other.peer != chosen.peer) continue;
            if (message_range(other) == message_range(chosen)) continue;
            if (joined_by_one_reduction(part, chosen.target, other.target)) continue; // a sum does not tell them apart
            std::swap(chosen.target, other.target);
            std::swap(chosen.left, other.left);
            std::swap(chosen.right, other.right);
            return true;
        }
        return false;
    }
    case Mutation::change_peer:
        if (!is_message(chosen.kind)) return false;
        chosen.peer = (chosen.peer + 1) % static_cast<std::uint32_t>(plan.ranks.size());
        return true;
    }
    return false;
}

} // namespace

namespace {

struct Mutant {
    std::string name;
    Collective collective;
    RankPlan (*algorithm)(const Shape&);
    std::uint64_t segment;
    bool needs_power_of_two;
};

/// Every algorithm whole, and in segments where those cut it.
std::vector<Mutant> mutants() {
    std::vector<Mutant> all;
    for (const Algorithm& each : algorithms()) {
        if (each.collective == Collective::barrier) continue;
        const std::string name = std::string(verbena::name(each.collective)) + " " + std::string(each.name);
        for (const std::uint64_t segment : {0u, 5u})
            all.push_back({name, each.collective, each.plan, segment, each.needs_power_of_two});
    }
    return all;
}

} // namespace

TEST_CASE("every mutated plan is rejected") {
    const std::uint64_t seed = std::random_device{}();
    std::mt19937_64 random(seed);
    const auto mutation = GENERATE(Mutation::drop_step, Mutation::shift_range, Mutation::shorten_range,
                                   Mutation::repeat_reduction, Mutation::swap_messages, Mutation::change_peer);
    for (const Mutant& mutant : mutants()) {
        for (int round = 0; round < 150; ++round) {
            // change_peer needs a third rank: of two, the next is itself, and that is a fault of its own
            const auto ranks =
                mutant.needs_power_of_two ? 1u << (1 + random() % 3) : static_cast<std::uint32_t>(2 + random() % 10);
            const auto root = static_cast<std::uint32_t>(random() % ranks);
            Plan plan = whole_plan(mutant.algorithm, {0, ranks, ranks + random() % 60, mutant.segment, root});
            const auto rank = static_cast<std::uint32_t>(random() % ranks);
            const auto index = static_cast<std::uint32_t>(random() % plan.ranks[rank].steps.size());
            if (!mutate(plan, mutation, rank, index, random)) continue;
            INFO(mutant.name << ", segments of " << mutant.segment << ", mutation " << static_cast<int>(mutation)
                             << " of rank " << rank << ", step " << index << " among " << ranks << " ranks, root "
                             << root << ", " << plan.count << " elements, seed " << seed);
            CHECK(find_fault(plan, mutant.collective).has_value());
        }
    }
}

TEST_CASE("no dependency of the plans is idle") {
    for (const Mutant& mutant : mutants()) {
        if (mutant.collective == Collective::all_to_all) continue; // its rounds wait for pace, not for contents
        for (const std::uint32_t ranks : {6u, 8u}) {
            if (mutant.needs_power_of_two && ranks == 6) continue;
            const Plan sound = whole_plan(mutant.algorithm, {0, ranks, 10 * ranks, mutant.segment, 2});
            for (std::uint32_t rank = 0; rank < ranks; ++rank) {
                for (std::uint32_t index = 0; index < sound.ranks[rank].steps.size(); ++index) {
                    Plan plan = sound;
                    if (step(plan, rank, index).after.empty()) continue;
                    step(plan, rank, index).after.clear();
                    INFO(mutant.name << ", segments of " << mutant.segment << ", rank " << rank << ", step " << index);
                    CHECK(find_fault(plan, mutant.collective).has_value());
                }
            }
        }
    }
}

TEST_CASE("a result that another collective has is rejected") {
    const Shape shape{0, 4, 8, 0, 1};
    CHECK_THAT(sentence(whole_plan(ring_all_reduce, shape), Collective::broadcast),
               VERBENA_CONTAINS("input has 0 elements, 2 are needed"));
    CHECK_THAT(sentence(whole_plan(ring_all_gather, shape), Collective::all_to_all),
               VERBENA_CONTAINS("rank 1: output [0] holds element 0"));
    CHECK_THAT(sentence(whole_plan(binomial_broadcast, {0, 4, 8, 0, 2}), Collective::all_reduce),
               VERBENA_CONTAINS("rank 0: output [0] lacks rank 0's contribution"));
    Plan wrong_root = whole_plan(binomial_scatter, shape);
    wrong_root.root = 0;
    CHECK_THAT(sentence(wrong_root, Collective::scatter), VERBENA_CONTAINS("input has 0 elements"));
    Plan both = exchange();
    both.count = 1; // two blocks of one element
    CHECK_THAT(sentence(both, Collective::all_to_all),
               VERBENA_CONTAINS("rank 0: output [0] has, and should not, rank 1's contribution"));
}
