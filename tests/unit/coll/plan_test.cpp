#include "catch.hpp"

#include <random>
#include <set>
#include <string>
#include <vector>

#include "coll/algorithms.hpp"
#include "coll/extent.hpp"
#include "coll/interpreter.hpp"
#include "coll/selection.hpp"

using namespace verbena::coll;
using verbena::Collective;

namespace {

using Maker = RankPlan (*)(const Shape&);

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

TEST_CASE("every algorithm is proved for 1 to 64 ranks, any root, whether or not the count divides") {
    for (const Algorithm& each : algorithms()) {
        for (std::uint32_t ranks = 1; ranks <= 64; ++ranks) {
            if (!each.can_run(ranks) || takes_counts(each.collective)) continue;
            const auto counts = has_blocks(each.collective)
                                    ? std::vector<std::uint64_t>{0, 1, 3}
                                    : std::vector<std::uint64_t>{0, 1, ranks - 1, ranks, ranks + 1, 2 * ranks + 3};
            const auto roots = has_root(each.collective) ? std::set<std::uint32_t>{0, 1 % ranks, ranks - 1}
                                                         : std::set<std::uint32_t>{0};
            for (const std::uint64_t count : counts) {
                for (const std::uint32_t root : roots) {
                    INFO(verbena::name(each.collective)
                         << " " << each.name << ", " << ranks << " ranks, " << count << " elements, root " << root);
                    CHECK(verdict(find_fault(whole_plan(each.plan, {0, ranks, count, 0, root}), each.collective)) ==
                          "sound");
                }
            }
        }
    }
}

TEST_CASE("every algorithm for blocks of different lengths is proved for 1 to 64 ranks, empty blocks among them") {
    std::mt19937_64 random(11);
    for (const Algorithm& each : algorithms()) {
        if (!takes_counts(each.collective)) continue;
        for (std::uint32_t ranks = 1; ranks <= 64; ++ranks) {
            for (const std::uint64_t segment : {std::uint64_t{0}, std::uint64_t{3}}) {
                std::vector<std::uint64_t> counts(each.collective == Collective::all_to_all_v ? ranks * ranks : ranks);
                for (std::uint64_t& count : counts) count = random() % 3 == 0 ? 0 : random() % 9;
                const std::uint32_t root = has_root(each.collective) ? ranks / 3 : 0;
                INFO(verbena::name(each.collective)
                     << " " << each.name << ", " << ranks << " ranks, segments of " << segment);
                const Plan plan = whole_plan(each.plan, {0, ranks, 0, segment, root}, counts);
                CHECK(verdict(find_fault(plan, each.collective)) == "sound");
            }
        }
    }
}

TEST_CASE("algorithms that are cut into segments are proved so, and no message is longer than a segment") {
    auto [collective, algorithm] = GENERATE(table<Collective, Maker>({{Collective::broadcast, binomial_broadcast},
                                                                      {Collective::reduce, binomial_reduce},
                                                                      {Collective::broadcast, double_tree_broadcast},
                                                                      {Collective::reduce, double_tree_reduce},
                                                                      {Collective::all_reduce, double_tree_all_reduce},
                                                                      {Collective::scan, chain_scan},
                                                                      {Collective::reduce_scatter, ring_reduce_scatter},
                                                                      {Collective::all_gather, ring_all_gather}}));
    const std::uint64_t segment = GENERATE(1u, 3u, 16u, 1000u);
    for (const std::uint32_t ranks : {2u, 3u, 5u, 8u, 16u}) {
        for (const std::uint64_t count : {1u, 17u, 25u}) {
            INFO(verbena::name(collective)
                 << ", " << ranks << " ranks, " << count << " elements, segments of " << segment);
            const Plan plan = whole_plan(algorithm, {0, ranks, count, segment, ranks / 2});
            CHECK(verdict(find_fault(plan, collective)) == "sound");
            for (const RankPlan& of_rank : plan.ranks) {
                for (const Step& step : of_rank.steps)
                    CHECK((!is_message(step.kind) || message_range(step).count <= segment));
            }
        }
    }
}

TEST_CASE("a ring cut into segments is proved, and no message is longer than a segment") {
    const std::uint64_t segment = GENERATE(1u, 3u, 16u, 1000u);
    for (const std::uint32_t ranks : {2u, 3u, 5u, 8u, 16u}) {
        for (const std::uint64_t count : {1u, 17u, 100u}) {
            INFO(ranks << " ranks, " << count << " elements, segments of " << segment);
            const Plan plan = whole_plan(ring_all_reduce, {0, ranks, count, segment});
            CHECK(verdict(find_fault(plan, Collective::all_reduce)) == "sound");
            for (const Step& step : plan.ranks[0].steps) CHECK(message_range(step).count <= segment);
        }
    }
}

TEST_CASE("the barrier is proved for 1 to 64 ranks and sends empty messages") {
    for (std::uint32_t ranks = 1; ranks <= 64; ++ranks) {
        INFO(ranks << " ranks");
        const Plan plan = whole_plan(dissemination_barrier, {0, ranks, 0, 0});
        CHECK(verdict(find_fault(plan, Collective::barrier)) == "sound");
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

TEST_CASE("each algorithm sends what it is chosen for") {
    const std::uint64_t count = 6400;
    auto [ranks, hops] = GENERATE(table<std::uint32_t, std::size_t>({{2, 1}, {4, 2}, {8, 3}, {64, 6}}));
    const Shape shape{0, ranks, count, 0};
    CHECK(sends(rabenseifner_all_reduce(shape)) == 2 * hops);
    CHECK(elements_sent(rabenseifner_all_reduce(shape)) == 2 * (ranks - 1) * count / ranks);
    CHECK(sends(binomial_broadcast(shape)) == hops);
    CHECK(elements_sent(scatter_all_gather_broadcast(shape)) < 2 * count);
    CHECK(sends(binomial_reduce({ranks - 1, ranks, count, 0})) == 1);
    CHECK(elements_sent(ring_reduce_scatter(shape)) == (ranks - 1) * count);
    CHECK(elements_sent(recursive_halving_reduce_scatter(shape)) == (ranks - 1) * count);
    CHECK(sends(recursive_halving_reduce_scatter(shape)) == hops);
    CHECK(elements_sent(ring_all_gather(shape)) == (ranks - 1) * count);
    CHECK(sends(recursive_doubling_all_gather(shape)) == hops);
    CHECK(sends(bruck_all_gather(shape)) == hops);
    CHECK(elements_sent(bruck_all_gather({2, 7, count, 0})) == 6 * count);
    CHECK(sends(binomial_scatter(shape)) == hops);
    CHECK(sends(linear_scatter(shape)) == ranks - 1);
    CHECK(sends(pairwise_all_to_all(shape)) == ranks - 1);
}

TEST_CASE("what the scatter left at a place is not sent there again") {
    for (std::uint32_t ranks = 2; ranks <= 17; ++ranks) {
        const Plan plan = whole_plan(scatter_all_gather_broadcast, {0, ranks, 100 * ranks, 0, 1});
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            std::uint64_t received = 0;
            for (const Step& step : plan.ranks[rank].steps) {
                if (is_receive(step.kind)) received += step.target.count;
            }
            CHECK(received == (rank == 1 ? 0 : 100 * ranks));
        }
    }
}

TEST_CASE("a billion elements are proved as quickly as a thousand") {
    const Plan plan = whole_plan(ring_all_reduce, {0, 7, 1'000'000'007, 0});
    CHECK(verdict(find_fault(plan, Collective::all_reduce)) == "sound");
}

TEST_CASE("one rank copies, and does nothing for nothing") {
    for (const Algorithm& each : algorithms()) {
        if (each.collective == Collective::barrier || each.collective == Collective::exclusive_scan) continue;
        INFO(verbena::name(each.collective) << " " << each.name);
        const RankPlan plan = each.plan({0, 1, 9, 0});
        REQUIRE(plan.steps.size() == 1);
        CHECK(describe(plan.steps[0]) == "copy input [0, 9) to output [0, 9)");
        CHECK(each.plan({0, 1, 0, 0}).steps.empty());
    }
}
