#include "catch.hpp"

#include <random>
#include <string>

#include <nlohmann/json.hpp>

#include <verbena/error.hpp>

#include "coll/extent.hpp"
#include "coll/interpreter.hpp"
#include "coll/plan_file.hpp"
#include "coll/selection.hpp"

using namespace verbena;
using namespace verbena::coll;

namespace {

std::string text_of(const Algorithm& algorithm, std::uint32_t ranks, std::uint64_t count) {
    return write_plan({"mine", algorithm.collective, whole_plan(algorithm.plan, {0, ranks, count, 2, 0}), 0});
}

const Algorithm& ring() { return algorithm_named(Collective::all_reduce, "ring", 4); }

/// What the reader says of a plan that `change` was done to.
template <class Change>
std::string complaint(Change change) {
    auto object = nlohmann::ordered_json::parse(text_of(ring(), 4, 8));
    change(object);
    try {
        (void)read_plan(object.dump());
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::invalid_argument);
        return error.what();
    }
    return "accepted";
}

} // namespace

TEST_CASE("every algorithm's plan is written, read back and proved, and equal plans have equal digests") {
    for (const Algorithm& each : algorithms()) {
        if (takes_counts(each.collective)) continue;
        INFO(name(each.collective) << " " << each.name);
        const std::string text = text_of(each, 4, each.collective == Collective::barrier ? 0 : 8);
        const NamedPlan read = read_plan(text);
        CHECK(read.collective == each.collective);
        CHECK(write_plan(read) == text);
        CHECK(read_plan(text).digest == read.digest);
    }
    CHECK(read_plan(text_of(ring(), 4, 8)).digest != read_plan(text_of(ring(), 4, 12)).digest);
}

TEST_CASE("a plan serves every multiple of its count, and is still right there") {
    for (const Algorithm& each : algorithms()) {
        if (takes_counts(each.collective) || each.collective == Collective::barrier) continue;
        INFO(name(each.collective) << " " << each.name);
        const NamedPlan read = read_plan(text_of(each, 4, 8));
        Plan larger{24, 0, {}, {}};
        for (std::uint32_t rank = 0; rank < 4; ++rank) larger.ranks.push_back(scaled(read, rank, 24));
        const std::optional<Fault> fault = find_fault(larger, each.collective);
        CHECK((fault ? fault->sentence : "sound") == "sound");
        CHECK_THROWS_WITH(scaled(read, 0, 25), VERBENA_CONTAINS("multiples of 8 elements, and this call has 25"));
    }
}

TEST_CASE("a bad plan is refused with the step that is wrong") {
    using Json = nlohmann::ordered_json;
    CHECK_THAT(complaint([](Json& plan) { plan["ranks"][2]["steps"][0]["to"] = 9; }),
               VERBENA_CONTAINS("rank 2, step 0 (send input"));
    CHECK_THAT(complaint([](Json& plan) { plan["ranks"][1]["steps"].erase(1); }), VERBENA_CONTAINS("rank "));
    CHECK_THAT(complaint([](Json& plan) { plan["ranks"][3]["steps"][0]["send"][2] = 1'000'000; }),
               VERBENA_CONTAINS("rank 3, step 0"));
    CHECK_THAT(complaint([](Json& plan) { plan["ranks"][0]["steps"].clear(); }), VERBENA_CONTAINS("rank "));
    CHECK_THAT(complaint([](Json& plan) { plan["ranks"][0]["steps"][1].erase("after"); }),
               VERBENA_CONTAINS("accepted"));
    CHECK_THAT(complaint([](Json& plan) { plan["ranks"][0]["steps"][3].erase("from"); }),
               VERBENA_CONTAINS("rank 0, step 3 has no \"from\""));
    CHECK_THAT(complaint([](Json& plan) {
                   plan["ranks"][0]["steps"][0] = Json{{"shout", 1}};
               }),
               VERBENA_CONTAINS("rank 0, step 0 is none of send"));
    CHECK_THAT(complaint([](Json& plan) { plan["operation"] = "all_to_all_v"; }), VERBENA_CONTAINS("takes a plan"));
    CHECK_THAT(complaint([](Json& plan) { plan["verbena_plan"] = 2; }), VERBENA_CONTAINS("version"));
    CHECK_THAT(complaint([](Json& plan) { plan["count"] = -1; }), VERBENA_CONTAINS("\"count\""));
    CHECK_THROWS_WITH(read_plan("{"), VERBENA_CONTAINS("no JSON"));
}

TEST_CASE("no text brings the reader down") {
    const std::uint64_t seed = std::random_device{}();
    std::mt19937_64 random(seed);
    const std::string good = text_of(ring(), 3, 3);
    INFO("seed " << seed);
    for (int turn = 0; turn < 3000; ++turn) {
        std::string text = good;
        for (std::uint64_t change = random() % 4; change-- > 0;) {
            const std::size_t at = random() % text.size();
            static constexpr char letters[] = "0123456789[]{},\"-eafrom";
            if (random() % 2 == 0)
                text[at] = letters[random() % (sizeof letters - 1)];
            else
                text.erase(at, random() % 8);
        }
        try {
            const NamedPlan read = read_plan(text);
            CHECK_FALSE(find_fault(read.plan, read.collective));
        } catch (const Error&) {
            SUCCEED();
        }
    }
}
