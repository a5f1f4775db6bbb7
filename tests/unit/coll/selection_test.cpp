#include "catch.hpp"

#include <string>

#include <verbena/error.hpp>

#include "coll/selection.hpp"

using namespace verbena;
using namespace verbena::coll;

TEST_CASE("small all-reduces take recursive doubling and large ones the ring") {
    auto [ranks, bytes, algorithm] =
        GENERATE(table<std::uint32_t, std::uint64_t, std::string>({{2, 8, "recursive_doubling"},
                                                                   {2, 64u << 20, "ring"},
                                                                   {3, 0, "recursive_doubling"},
                                                                   {3, 64u << 20, "ring"},
                                                                   {8, 1024, "recursive_doubling"},
                                                                   {8, 4u << 20, "ring"},
                                                                   {8, 256u << 10, "rabenseifner"},
                                                                   {64, 65536, "rabenseifner"},
                                                                   {6, 1024, "recursive_doubling"},
                                                                   {64, 256u << 20, "ring"}}));
    CHECK(select(Collective::all_reduce, ranks, bytes).algorithm == algorithm);
}

TEST_CASE("there is one size from which on the ring stays the choice") {
    const std::uint32_t ranks = GENERATE(2u, 3u, 5u, 8u, 16u, 33u);
    bool is_ring = false;
    for (std::uint64_t bytes = 1; bytes <= 1u << 30; bytes *= 2) {
        const bool now_ring = select(Collective::all_reduce, ranks, bytes).algorithm == "ring";
        CHECK((now_ring || !is_ring));
        is_ring = now_ring;
    }
    CHECK(is_ring);
}

TEST_CASE("the choice follows the cost model and says both predictions") {
    CostModel slow_to_start;
    slow_to_start.latency_ns = 1e9;
    CHECK(select(Collective::all_reduce, 8, 4u << 20, slow_to_start).algorithm == "recursive_doubling");
    const CostModel round{1000, 1, 1};
    // ring: 6 hops of 1 us + 1000 bytes, 3 reductions of 1000 bytes; doubling: 2 hops of 1 us + 4000 + 4000 bytes
    CHECK_THAT(select(Collective::all_reduce, 4, 4000, round).reason,
               VERBENA_CONTAINS("ring 15.0 us") && VERBENA_CONTAINS("recursive_doubling 18.0 us"));
    // 5 ranks: the same two hops, and one in and one back with a reduction
    CHECK_THAT(select(Collective::all_reduce, 5, 4000, round).reason, VERBENA_CONTAINS("recursive_doubling 32.0 us"));
}

TEST_CASE("one rank is told that nothing is sent") {
    CHECK_THAT(select(Collective::all_reduce, 1, 8).reason, VERBENA_CONTAINS("no message is sent"));
}

TEST_CASE("every listed algorithm can be asked for, an unknown one lists them") {
    for (const Algorithm& each : algorithms()) {
        CHECK(algorithm_named(each.collective, each.name, 8).plan == each.plan);
        try {
            (void)algorithm_named(each.collective, "rign", 8);
            FAIL("accepted");
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::invalid_argument);
            CHECK_THAT(error.what(), VERBENA_CONTAINS("\"rign\"") &&
                                         VERBENA_CONTAINS(std::string(name(each.collective)) + " algorithm"));
            for (const std::string& known : algorithm_names(each.collective))
                CHECK_THAT(error.advice(), VERBENA_CONTAINS(known));
        }
    }
}

TEST_CASE("an algorithm for powers of two is refused to other numbers of ranks, and never chosen for them") {
    CHECK_THROWS_WITH(algorithm_named(Collective::reduce_scatter, "recursive_halving", 6),
                      VERBENA_CONTAINS("needs a power of two of ranks, there are 6"));
    for (std::uint32_t ranks = 1; ranks <= 64; ++ranks) {
        for (std::uint64_t bytes = 0; bytes <= 1u << 30; bytes = bytes * 4 + 1) {
            for (const Algorithm& each : algorithms()) {
                const Algorithm chosen = cheapest(each.collective, ranks, bytes);
                CHECK(chosen.collective == each.collective);
                CHECK(chosen.can_run(ranks));
            }
        }
    }
    CHECK_THAT(select(Collective::all_gather, 6, 8).reason,
               VERBENA_CONTAINS("recursive_doubling only for powers of two"));
}

TEST_CASE("few hops for short buffers, few bytes or copies for long ones") {
    auto [collective, ranks, small, large] = GENERATE(table<Collective, std::uint32_t, std::string, std::string>(
        {{Collective::broadcast, 8, "binomial", "double_tree"},
         {Collective::broadcast, 2, "binomial", "binomial"},
         {Collective::reduce, 5, "binomial", "double_tree"},
         {Collective::reduce_scatter, 8, "recursive_halving", "ring"},
         {Collective::reduce_scatter, 6, "ring", "ring"},
         {Collective::all_gather, 8, "recursive_doubling", "ring"},
         {Collective::all_gather, 6, "bruck", "ring"},
         {Collective::gather, 8, "binomial", "linear"},
         {Collective::scatter, 7, "binomial", "linear"},
         {Collective::all_to_all, 8, "bruck", "pairwise"},
         {Collective::scan, 8, "recursive_doubling", "chain"},
         {Collective::barrier, 8, "dissemination", "dissemination"}}));
    CHECK(select(collective, ranks, 64).algorithm == small);
    CHECK(select(collective, ranks, 64u << 20).algorithm == large);
}

TEST_CASE("a segment keeps a hop to 16 messages and never gets short") {
    const std::uint32_t ranks = GENERATE(1u, 2u, 7u, 64u);
    for (const std::uint64_t bytes :
         {std::uint64_t{0}, std::uint64_t{4096}, std::uint64_t{64} << 20, std::uint64_t{16} << 30}) {
        const std::uint64_t segment = segment_bytes(ranks, bytes);
        CHECK(segment >= 256u << 10);
        CHECK((bytes / ranks) / segment <= 16);
    }
}
