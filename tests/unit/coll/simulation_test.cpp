#include "catch.hpp"

#include <string>

#include <verbena/error.hpp>

#include "coll/extent.hpp"
#include "coll/simulation.hpp"

using namespace verbena;
using namespace verbena::coll;

namespace {

/// One level, a byte a nanosecond, nothing else costs anything but what is asked for.
Topology flat(double latency, double gap = 0) { return {"flat", {{"all", 0, latency, gap, 1, 1}}, 0, 0}; }

Simulated run(Collective collective, const char* name, std::uint32_t ranks, std::uint64_t count,
              const Topology& topology) {
    return simulate(algorithm_named(collective, name, ranks), ranks, count, 1, topology);
}

} // namespace

TEST_CASE("on a flat network the simulated time is the one that can be worked out by hand") {
    // a ring of 4: 2 * 3 hops of 250 bytes and a latency of 10
    CHECK(run(Collective::all_reduce, "ring", 4, 1000, flat(10)).nanoseconds == Approx(6 * 260));
    CHECK(run(Collective::all_reduce, "recursive_doubling", 8, 1000, flat(10)).nanoseconds == Approx(3 * 1010));
    CHECK(run(Collective::barrier, "dissemination", 9, 0, flat(10)).nanoseconds == Approx(4 * 10));
    // the root's link carries 7 blocks, one after another; the gap counts for each
    CHECK(run(Collective::scatter, "linear", 8, 100, flat(10, 5)).nanoseconds == Approx(7 * 105 + 10));
    // pairwise: 3 rounds of a block, overlapping but on one link
    CHECK(run(Collective::all_to_all, "pairwise", 4, 100, flat(0)).nanoseconds == Approx(300));
}

TEST_CASE("reductions and copies take a rank's time") {
    Topology slow = flat(10);
    slow.reduction_ns_per_byte = 2;
    CHECK(run(Collective::all_reduce, "recursive_doubling", 2, 1000, slow).nanoseconds == Approx(1010 + 2000));
}

TEST_CASE("ranks of one node share its link to the network") {
    // Two nodes of 4: all-to-all sends 4 * 4 blocks of 100 bytes out of each node.
    const Topology two{"two", {{"node", 4, 0, 0, 1000, 1}, {"net", 0, 0, 0, 1, 1}}, 0, 0};
    CHECK(run(Collective::all_to_all, "pairwise", 8, 100, two).nanoseconds >= 1600);
    Topology wide = two;
    wide.levels[1].links = 4;
    CHECK(run(Collective::all_to_all, "pairwise", 8, 100, wide).nanoseconds <
          run(Collective::all_to_all, "pairwise", 8, 100, two).nanoseconds / 2);
}

TEST_CASE("no algorithm is below the bound, on any topology, and every one comes to its end") {
    const std::string name = GENERATE("two-level", "fat-tree");
    const Topology topology = topology_of(name);
    const auto ranks = static_cast<std::uint32_t>(GENERATE(2, 5, 16, 48, 300));
    for (const Algorithm& each : algorithms()) {
        if (takes_counts(each.collective) || !each.can_run(ranks)) continue;
        for (const std::uint64_t count : {std::uint64_t{2}, std::uint64_t{40'000}}) {
            INFO(name << ", " << verbena::name(each.collective) << " " << each.name << ", " << ranks << " ranks, "
                      << count << " elements");
            const Simulated found = simulate(each, ranks, count, 4, topology);
            REQUIRE(found.has_run);
            const double bytes = 4.0 * static_cast<double>(count) * (has_blocks(each.collective) ? ranks : 1);
            CHECK(found.nanoseconds >= lower_bound_ns(each.collective, ranks, bytes, topology) * 0.999);
        }
    }
}

TEST_CASE("what would take too long is refused with the reason") {
    SimulationLimits limits;
    limits.messages = 1000;
    const Simulated found =
        simulate(algorithm_named(Collective::all_reduce, "ring", 64), 64, 64, 4, topology_of("two-level"), limits);
    CHECK_FALSE(found.has_run);
    CHECK(found.messages == 64 * 126);
    CHECK_THAT(found.reason, VERBENA_CONTAINS("messages"));
}

TEST_CASE("a topology is read, and a wrong one refused with what is wrong") {
    const Topology read = topology_of(R"({"verbena_topology": 1, "name": "mine", "levels": [
        {"ranks": 4, "latency_ns": 1}, {"ranks": 0, "links": 3, "gigabytes_per_second": 2.5}]})");
    CHECK(read.levels.size() == 2);
    CHECK(read.levels[1].links == 3);
    CHECK(read.levels[1].gigabytes_per_second == 2.5);
    auto [text, complaint] = GENERATE(table<std::string, std::string>(
        {{"[]", "no JSON object"},
         {"{", "no JSON object"},
         {R"({"verbena_topology": 2})", "is not 1"},
         {R"({"verbena_topology": 1})", "no \"levels\""},
         {R"({"verbena_topology": 1, "levels": [{"ranks": 4}]})", "last level"},
         {R"({"verbena_topology": 1, "levels": [{"ranks": 4}, {"ranks": 6}, {"ranks": 0}]})", "no multiple of 4"},
         {R"({"verbena_topology": 1, "levels": [{"ranks": 0, "latency_ns": -1}]})", "\"latency_ns\""},
         {R"({"verbena_topology": 1, "levels": [{"ranks": 0}, {"ranks": 0}]})", "all ranks"}}));
    CHECK_THROWS_WITH(topology_of(text), VERBENA_CONTAINS(complaint));
}
