/// Atomics: what one rank sees, and what several ranks add up to.
#include "one_sided_job.hpp"

#include <algorithm>

using namespace verbena;
using namespace verbena::conformance;
using Kind = msg::OneSidedCall::Kind;

TEST_CASE("an atomic changes its word and returns what was there", "[one-sided]") {
    CONFORMANCE_PAIR(pair);
    OneSidedJob job(pair);
    Exposed target(job[1], 32);
    constexpr std::uint64_t start = 0xfffffffffffffff0u;
    struct Case {
        Kind kind;
        std::uint64_t operand;
        std::uint64_t compare;
        std::uint64_t after;
    };
    const Case cases[] = {{Kind::fetch_add, 0x20, 0, 0x10},
                          {Kind::compare_and_swap, 42, start, 42},
                          {Kind::compare_and_swap, 42, 1, start},
                          {Kind::swap, 77, 0, 77}};
    for (const Case& each : cases) {
        CAPTURE(each.operand, each.compare);
        target.set_word(16, start);
        std::uint64_t before = 0;
        const auto call = atomic_call(each.kind, target.region(), 16, each.operand, each.compare, &before);
        const Status ended = job.end_of(0, job[0].one_sided(1, call));
        REQUIRE(ended.ok());
        CHECK(ended.bytes == 8);
        CHECK(before == start);
        CHECK(target.word(16) == each.after);
        CHECK(target.word(8) == 0);
        CHECK(target.word(24) == 0);
        CHECK(target.guards_intact());
    }
    CHECK(job[0].is_quiet());
}

TEST_CASE("what several ranks add, count by compare-and-swap and exchange is exact", "[one-sided]") {
    CONFORMANCE_PAIR(pair);
    CONFORMANCE_NEEDS(!pair.is_one_rank_each, "a device stands for one rank");
    constexpr std::uint32_t ranks = 4;
    constexpr std::uint64_t rounds = 40;
    constexpr std::uint32_t owner = 1;
    OneSidedJob job(pair, ranks);
    Exposed target(job[owner], 24); // added to, counted, exchanged
    struct Worker {
        std::uint64_t added = 0;
        std::uint64_t counted = 0;
        std::uint64_t exchanged = 0;
        std::uint64_t guess = 0;
        std::uint64_t before[3]{};
        msg::OperationId running[3]{};
        bool runs[3]{};
        std::uint64_t taken_sum = 0; ///< of what exchanges found
        std::vector<std::uint64_t> seen;
    };
    std::vector<Worker> workers(ranks);
    std::uint64_t given_sum = 0;
    const auto turn = [&](std::uint32_t rank) {
        Worker& own = workers[rank];
        msg::Engine& engine = job[rank];
        for (int what = 0; what < 3; ++what) {
            if (!own.runs[what] || !engine.is_complete(own.running[what])) continue;
            REQUIRE(engine.status(own.running[what]).ok());
            engine.release(own.running[what]);
            own.runs[what] = false;
            if (what == 0) {
                own.seen.push_back(own.before[0]);
                ++own.added;
            } else if (what == 1) {
                if (own.before[1] == own.guess) ++own.counted;
                own.guess = own.before[1] == own.guess ? own.guess + 1 : own.before[1];
            } else {
                own.taken_sum += own.before[2];
                ++own.exchanged;
            }
        }
        if (!own.runs[0] && own.added < rounds) {
            own.running[0] =
                engine.one_sided(owner, atomic_call(Kind::fetch_add, target.region(), 0, 3, 0, &own.before[0]));
            own.runs[0] = true;
        }
        if (!own.runs[1] && own.counted < rounds) {
            own.running[1] = engine.one_sided(owner, atomic_call(Kind::compare_and_swap, target.region(), 8,
                                                                 own.guess + 1, own.guess, &own.before[1]));
            own.runs[1] = true;
        }
        if (!own.runs[2] && own.exchanged < rounds) {
            const std::uint64_t gift = rank * 1000 + own.exchanged + 1;
            given_sum += gift;
            own.running[2] =
                engine.one_sided(owner, atomic_call(Kind::swap, target.region(), 16, gift, 0, &own.before[2]));
            own.runs[2] = true;
        }
        return own.added == rounds && own.counted == rounds && own.exchanged == rounds;
    };
    REQUIRE(job.wait([&] {
        bool done = true;
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            if (rank != owner) done = turn(rank) && done;
        }
        return done;
    }));
    CHECK(target.word(0) == 3 * rounds * (ranks - 1));
    CHECK(target.word(8) == rounds * (ranks - 1));
    std::uint64_t taken = target.word(16); // every value given is taken once, or is still there
    std::vector<std::uint64_t> seen;
    for (const Worker& each : workers) {
        taken += each.taken_sum;
        seen.insert(seen.end(), each.seen.begin(), each.seen.end());
    }
    CHECK(taken == given_sum);
    std::ranges::sort(seen);
    for (std::size_t i = 0; i < seen.size(); ++i) CHECK(seen[i] == 3 * i);
}
