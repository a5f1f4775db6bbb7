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
                                                                   {64, 65536, "recursive_doubling"},
                                                                   {64, 256u << 20, "ring"}}));
    CHECK(select_all_reduce(ranks, bytes).algorithm == algorithm);
}

TEST_CASE("there is one size from which on the ring stays the choice") {
    const std::uint32_t ranks = GENERATE(2u, 3u, 5u, 8u, 16u, 33u);
    bool is_ring = false;
    for (std::uint64_t bytes = 1; bytes <= 1u << 30; bytes *= 2) {
        const bool now_ring = select_all_reduce(ranks, bytes).algorithm == "ring";
        CHECK((now_ring || !is_ring));
        is_ring = now_ring;
    }
    CHECK(is_ring);
}

TEST_CASE("the choice follows the cost model and says both predictions") {
    CostModel slow_to_start;
    slow_to_start.latency_ns = 1e9;
    CHECK(select_all_reduce(8, 4u << 20, slow_to_start).algorithm == "recursive_doubling");
    const CostModel round{1000, 1, 1};
    // ring: 6 hops of 1 us + 1000 bytes, 3 reductions of 1000 bytes; doubling: 2 hops of 1 us + 4000 + 4000 bytes
    CHECK_THAT(select_all_reduce(4, 4000, round).reason,
               VERBENA_CONTAINS("ring 15.0 us") && VERBENA_CONTAINS("recursive_doubling 18.0 us"));
    // 5 ranks: the same two hops, and one in and one back with a reduction
    CHECK_THAT(select_all_reduce(5, 4000, round).reason, VERBENA_CONTAINS("recursive_doubling 32.0 us"));
}

TEST_CASE("one rank is told that nothing is sent") {
    CHECK_THAT(select_all_reduce(1, 8).reason, VERBENA_CONTAINS("no message is sent"));
}

TEST_CASE("every listed algorithm can be asked for, an unknown one lists them") {
    for (const std::string& name : all_reduce_algorithms()) CHECK(all_reduce_named(name).name == name);
    try {
        (void)all_reduce_named("rign");
        FAIL("accepted");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::invalid_argument);
        CHECK_THAT(error.what(), VERBENA_CONTAINS("\"rign\""));
        for (const std::string& name : all_reduce_algorithms()) CHECK_THAT(error.advice(), VERBENA_CONTAINS(name));
    }
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
