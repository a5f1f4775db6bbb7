#include "catch.hpp"

#include <string>

#include "coll/algorithms.hpp"
#include "coll/interpreter.hpp"

using namespace verbena::coll;

namespace {

using Algorithm = RankPlan (*)(const Shape&);

std::uint64_t elements_sent(const RankPlan& plan) {
    std::uint64_t elements = 0;
    for (const Step& step : plan.steps) elements += step.kind == StepKind::send ? step.left.count : 0;
    return elements;
}

std::size_t sends(const RankPlan& plan) {
    std::size_t count = 0;
    for (const Step& step : plan.steps) count += step.kind == StepKind::send ? 1 : 0;
    return count;
}

std::string verdict(const std::optional<Fault>& fault) { return fault ? fault->sentence : "sound"; }

} // namespace

TEST_CASE("parts of a range follow each other, cover it and differ by one element at most") {
    const std::uint64_t count = GENERATE(0u, 1u, 6u, 7u, 8u, 1000u);
    const Range whole{Buffer::scratch, 5, count};
    std::uint64_t end = whole.offset;
    for (std::uint64_t index = 0; index < 7; ++index) {
        const Range piece = part(whole, 7, index);
        CHECK(piece.offset == end);
        CHECK((piece.count == count / 7 || piece.count == count / 7 + 1));
        end = piece.end();
    }
    CHECK(end == whole.end());
}

TEST_CASE("every all-reduce is proved for 1 to 64 ranks, whether or not the count divides") {
    auto [name, algorithm] = GENERATE(table<std::string, Algorithm>(
        {{"ring", ring_all_reduce}, {"recursive_doubling", recursive_doubling_all_reduce}}));
    for (std::uint32_t ranks = 1; ranks <= 64; ++ranks) {
        for (const std::uint64_t count : {0u, 1u, ranks - 1, ranks, ranks + 1, 2 * ranks + 3, 1000u}) {
            INFO(name << ", " << ranks << " ranks, " << count << " elements");
            CHECK(verdict(find_fault(whole_plan(algorithm, {0, ranks, count, 0}), Goal::all_reduce)) == "sound");
        }
    }
}

TEST_CASE("a ring cut into segments is proved, and no message is longer than a segment") {
    const std::uint64_t segment = GENERATE(1u, 3u, 16u, 1000u);
    for (const std::uint32_t ranks : {2u, 3u, 5u, 8u, 16u}) {
        for (const std::uint64_t count : {1u, 17u, 100u}) {
            INFO(ranks << " ranks, " << count << " elements, segments of " << segment);
            const Plan plan = whole_plan(ring_all_reduce, {0, ranks, count, segment});
            CHECK(verdict(find_fault(plan, Goal::all_reduce)) == "sound");
            for (const Step& step : plan.ranks[0].steps) CHECK(message_range(step).count <= segment);
        }
    }
}

TEST_CASE("the barrier is proved for 1 to 64 ranks and sends empty messages") {
    for (std::uint32_t ranks = 1; ranks <= 64; ++ranks) {
        INFO(ranks << " ranks");
        const Plan plan = whole_plan(dissemination_barrier, {0, ranks, 0, 0});
        CHECK(verdict(find_fault(plan, Goal::barrier)) == "sound");
        CHECK(elements_sent(plan.ranks[0]) == 0);
    }
}

TEST_CASE("ring moves the fewest bytes and recursive doubling takes the fewest hops") {
    auto [ranks, hops] = GENERATE(table<std::uint32_t, std::size_t>({{2, 1}, {4, 2}, {8, 3}, {64, 6}}));
    const Shape shape{0, ranks, 6400, 0};
    CHECK(elements_sent(ring_all_reduce(shape)) == 2 * (ranks - 1) * 6400 / ranks);
    CHECK(sends(recursive_doubling_all_reduce(shape)) == hops);
    CHECK(sends(dissemination_barrier(shape)) == hops);
}

TEST_CASE("a billion elements are proved as quickly as a thousand") {
    const Plan plan = whole_plan(ring_all_reduce, {0, 7, 1'000'000'007, 0});
    CHECK(verdict(find_fault(plan, Goal::all_reduce)) == "sound");
}

TEST_CASE("one rank copies, and does nothing for nothing") {
    for (const Algorithm algorithm : {ring_all_reduce, recursive_doubling_all_reduce}) {
        const RankPlan plan = algorithm({0, 1, 9, 0});
        REQUIRE(plan.steps.size() == 1);
        CHECK(describe(plan.steps[0]) == "copy input [0, 9) to output [0, 9)");
        CHECK(algorithm({0, 1, 0, 0}).steps.empty());
    }
}
