#include "catch.hpp"

#include <algorithm>
#include <string>

#include <verbena/error.hpp>

#include "lab/lab.hpp"

using namespace verbena;

namespace {

lab::Report play(std::string scenario, std::uint32_t depth = 0, std::uint64_t seed = 1) {
    return lab::play({std::move(scenario), depth, seed}, {});
}

} // namespace

TEST_CASE("in every scenario raw verbs lose on the simulated NIC, and verbena does not, at any depth and seed") {
    for (const lab::ScenarioInfo& info : lab::scenarios()) {
        for (const std::uint32_t depth : {info.default_depth, 8u, 64u, 200u}) {
            for (const std::uint64_t seed : {1u, 2u, 3u}) {
                CAPTURE(std::string(info.name), depth, seed);
                const lab::Report report = play(std::string(info.name), depth, seed);
                REQUIRE(report.acts.size() >= 2);
                CHECK(report.acts.front().program == "raw verbs");
                CHECK_FALSE(report.acts.front().succeeded);
                CHECK(report.acts.back().program == "verbena");
                CHECK(report.acts.back().succeeded);
                CHECK(report.differences.empty());
            }
        }
    }
}

TEST_CASE("P05: the 33rd unsignaled send on a queue of 32 is refused with ENOMEM though the peer has everything") {
    const lab::Act raw = play("sq-exhaustion").acts.front();
    const lab::Step& last = raw.steps.back();
    CHECK(last.action == "post send 33");
    CHECK(last.ledger == std::string(32, 'u'));
    CHECK_THAT(last.seen, VERBENA_CONTAINS("ENOMEM"));
    CHECK(last.is_failure);
    const bool peer_has_all =
        std::ranges::any_of(raw.steps, [](const auto& step) { return step.seen == "it has 32 of 32"; });
    CHECK(peer_has_all);
}

TEST_CASE("a fence makes the READ safe, and only the act without one fails") {
    const lab::Report report = play("read-write-order", 100);
    REQUIRE(report.acts.size() == 3);
    CHECK_FALSE(report.acts[0].succeeded);
    CHECK(report.acts[1].succeeded);
}

TEST_CASE("one seed is one run") {
    const auto ledgers = [](std::uint64_t seed) {
        return play("read-write-order", 64, seed).acts.front().steps.front().ledger;
    };
    CHECK(ledgers(5) == ledgers(5));
    CHECK(ledgers(5) != ledgers(6));
}

TEST_CASE("an unknown scenario or an impossible depth is refused with what there is") {
    CHECK_THROWS_WITH(play("enomem"), VERBENA_CONTAINS("enomem"));
    CHECK_THROWS_WITH(play("cq-overrun", 2), VERBENA_CONTAINS("8 to 4096"));
}
