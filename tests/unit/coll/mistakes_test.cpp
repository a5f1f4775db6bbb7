#include "catch.hpp"

#include <string>
#include <vector>

#include "coll/selection.hpp"
#include "coll/shrink.hpp"
#include "group_job.hpp"

using namespace verbena;
using namespace verbena::coll;
using verbena::testing::GroupJob;

namespace {

/// A job of four whose ranks make calls of their own.
struct Mistake {
    static constexpr auto limit = std::chrono::milliseconds(50);
    GroupJob group{4, 29, sim::mlx5_like(), {}, {}, limit};
    std::vector<std::vector<std::int32_t>> memory{4, std::vector<std::int32_t>(100'000, 1)};
    std::vector<std::vector<msg::OperationId>> ids{4};

    /// Unlike buffers for unlike calls: half of a rank's memory is input, the other half output.
    Request request(std::uint32_t rank, Collective collective, std::size_t count) {
        std::int32_t* data = memory[rank].data();
        return {collective, data, data + 50'000, count, DataType::i32, ReduceOp::sum, 0, {}};
    }
    void call(std::uint32_t rank, const Request& request) { ids[rank].push_back(group.groups[rank]->start(request)); }

    [[nodiscard]] bool all_end() {
        return group.job.run_until([&] {
            for (std::uint32_t rank = 0; rank < 4; ++rank) {
                for (const msg::OperationId id : ids[rank]) {
                    if (!group.job[rank].is_complete(id)) return false;
                }
            }
            return true;
        });
    }
    [[nodiscard]] Status last(std::uint32_t rank) { return group.job[rank].status(ids[rank].back()); }

    /// Every rank that is listed ends with the code, and names the odd rank in the same words.
    void check(ErrorCode code, std::uint32_t odd, const std::vector<std::string>& words,
               const std::vector<std::uint32_t>& ranks = {0, 1, 2, 3}) {
        REQUIRE(all_end());
        for (const std::uint32_t rank : ranks) {
            INFO("rank " << rank << ": " << group.groups[rank]->failure());
            CHECK(last(rank).code == code);
            CHECK(last(rank).source == odd);
            CHECK(group.groups[rank]->failure() == group.groups[ranks[0]]->failure());
            for (const std::string& word : words) CHECK_THAT(group.groups[rank]->failure(), VERBENA_CONTAINS(word));
        }
    }
};

} // namespace

TEST_CASE("P49: a count that differs on one rank ends the call on every rank, which name it") {
    const std::string algorithm = GENERATE("", "ring", "recursive_doubling", "rabenseifner");
    const std::size_t count = GENERATE(1u, 1024u, 20'000u);
    const auto odd = static_cast<std::uint32_t>(GENERATE(0, 3));
    Mistake job;
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
        Request request = job.request(rank, Collective::all_reduce, rank == odd ? 2 * count : count);
        request.algorithm = algorithm;
        job.call(rank, request);
    }
    job.check(ErrorCode::invalid_argument, odd,
              {"call #0 differs: rank " + std::to_string(odd), "differs in: count",
               "all_reduce of " + std::to_string(2 * count) + " i32", "all_reduce of " + std::to_string(count)});
}

TEST_CASE("P49: another type, reduction, root or algorithm ends the call on every rank") {
    Mistake job;
    std::string field;
    const int which = GENERATE(0, 1, 2, 3);
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
        Request request = job.request(rank, which == 2 ? Collective::gather : Collective::all_reduce, 512);
        if (rank == 2) {
            if (which == 0) request.type = DataType::f32, field = "differs in: type";
            if (which == 1) request.op = ReduceOp::max, field = "differs in: reduction";
            if (which == 2) request.root = 1, field = "differs in: root";
            if (which == 3) request.algorithm = "ring", field = "differs in: algorithm";
        }
        if (rank != 2 && which == 3) request.algorithm = "recursive_doubling";
        job.call(rank, request);
    }
    // A leaf of a gather has nothing to wait for: it hears of it, and its next call ends so.
    if (which == 2) {
        REQUIRE(job.group.job.run_until([&] {
            for (const auto& group : job.group.groups) {
                if (!group->is_over()) return false;
            }
            return true;
        }));
        for (std::uint32_t rank = 0; rank < 4; ++rank) job.call(rank, job.request(rank, Collective::all_reduce, 1));
    }
    job.check(ErrorCode::invalid_argument, 2, {"call #0 differs: rank 2 calls", field});
}

TEST_CASE("P49: another operation, or another order of two, ends the calls on every rank") {
    Mistake job;
    const bool is_order = GENERATE(false, true);
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
        const Request reduce = job.request(rank, Collective::all_reduce, 256);
        const Request gather = job.request(rank, Collective::all_gather, 256);
        job.call(rank, rank == 3 ? gather : reduce);
        if (is_order) job.call(rank, rank == 3 ? reduce : gather);
    }
    job.check(ErrorCode::invalid_argument, 3,
              {"call #0 differs: rank 3 calls all_gather of 256 i32", "differs in: operation",
               "ranks 0, 1, 2 call all_reduce of 256 i32"});
}

TEST_CASE("P49: a call of nothing is told from one of something") {
    Mistake job;
    for (std::uint32_t rank = 0; rank < 4; ++rank)
        job.call(rank, job.request(rank, Collective::all_reduce, rank == 1 ? 0 : 8));
    REQUIRE(job.all_end());
    job.call(1, job.request(1, Collective::all_reduce, 8)); // the first had nothing to wait for
    job.check(ErrorCode::invalid_argument, 1, {"call #0 differs: rank 1 calls all_reduce of 0 i32"});
}

TEST_CASE("P49: a rank that never comes is named, with what it was about to call") {
    Mistake job;
    for (std::uint32_t rank = 0; rank < 4; ++rank) job.call(rank, job.request(rank, Collective::barrier, 0));
    REQUIRE(job.all_end());
    for (const std::uint32_t rank : {0u, 1u, 3u}) job.call(rank, job.request(rank, Collective::all_reduce, 100));
    const auto begun = job.group.now();
    job.check(ErrorCode::timed_out, 2,
              {"call #1, all_reduce of 100 i32", "rank 2 has not made it (the next call there is #1)"}, {0, 1, 3});
    CHECK(job.group.now() - begun < 2 * Mistake::limit);
    // It comes too late, and is told so.
    for (int step = 0; step < 2000; ++step) job.group.job.step();
    job.call(2, job.request(2, Collective::all_reduce, 100));
    job.check(ErrorCode::timed_out, 2, {"rank 2 has not made it"});
}

TEST_CASE("a rank that is late, but within the limit, ends nothing") {
    Mistake job;
    for (const std::uint32_t rank : {0u, 1u, 3u}) job.call(rank, job.request(rank, Collective::all_reduce, 100));
    const auto begun = job.group.now();
    REQUIRE(job.group.job.run_until([&] { return job.group.now() - begun > Mistake::limit * 7 / 10; }));
    job.call(2, job.request(2, Collective::all_reduce, 100));
    REQUIRE(job.all_end());
    for (std::uint32_t rank = 0; rank < 4; ++rank) CHECK(job.last(rank).ok());
}

TEST_CASE("calls that are far ahead of a rank are compared when it comes") {
    Mistake job;
    for (int call = 0; call < 20; ++call) job.call(0, job.request(0, Collective::broadcast, 4));
    for (int step = 0; step < 2000; ++step) job.group.job.step();
    for (const std::uint32_t rank : {1u, 2u, 3u}) {
        for (int call = 0; call < 18; ++call)
            job.call(rank, job.request(rank, Collective::broadcast, call == 17 ? 5 : 4));
    }
    job.check(ErrorCode::invalid_argument, 0, {"call #17 differs: rank 0 calls broadcast of 4 i32"}, {1, 2, 3});
    CHECK(job.last(0).ok()); // it had sent all by then
    job.call(0, job.request(0, Collective::broadcast, 4));
    CHECK(job.last(0).code == ErrorCode::invalid_argument);
}

TEST_CASE("nothing of a group that is over is kept: its early messages go, and large ones are answered") {
    Mistake job;
    for (std::uint32_t rank = 0; rank < 4; ++rank)
        job.call(rank, job.request(rank, Collective::all_to_all, rank == 1 ? 10'000 : 9'999));
    job.check(ErrorCode::invalid_argument, 1, {"call #0 differs"});
    for (int step = 0; step < 20'000; ++step) job.group.job.step();
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
        CHECK(job.group.job[rank].is_quiet());
        for (std::uint32_t peer = 0; peer < 4; ++peer) {
            CHECK_FALSE(job.group.job[rank].early_tag(peer, 1));
            CHECK_FALSE(job.group.job[rank].early_tag(peer, 1 | notice_context_bit));
        }
    }
}

TEST_CASE("a path that breaks between two ranks ends the call on all of them, and the group can be shrunk") {
    Mistake job;
    for (std::uint32_t rank = 0; rank < 4; ++rank) job.call(rank, job.request(rank, Collective::all_reduce, 20'000));
    job.group.job.fabric.kill(*job.group.job.devices[2]);
    Status status;
    status.code = ErrorCode::peer_lost;
    status.source = 2;
    for (const std::uint32_t rank : {0u, 1u, 3u}) { // as the job's store tells them
        job.group.groups[rank]->lose(2, status, "killed");
        job.group.job[rank].fail_tasks(status);
        job.group.job[rank].fail_peer(2, status, "killed");
    }
    job.ids[2].clear();
    REQUIRE(job.all_end());
    std::vector<std::shared_ptr<Survivors>> found;
    std::vector<msg::OperationId> shrinks;
    const std::vector<std::uint32_t> living = {0, 1, 3};
    for (const std::uint32_t rank : living) {
        CHECK(job.last(rank).code == ErrorCode::peer_lost);
        CHECK(job.last(rank).source == 2);
        CHECK(job.group.groups[rank]->failure() == "rank 2 is lost: killed");
        found.push_back(std::make_shared<Survivors>());
        shrinks.push_back(job.group.job[rank].start(std::make_unique<ShrinkTask>(
            Members::whole_job(rank, 4), msg::Context{1}, 0, msg::Context(3 + rank), found.back())));
    }
    REQUIRE(job.group.job.run_until([&] {
        for (std::size_t i = 0; i < 3; ++i) {
            if (!job.group.job[living[i]].is_complete(shrinks[i])) return false;
        }
        return true;
    }));
    std::vector<std::unique_ptr<Collectives>> after;
    std::vector<msg::OperationId> sums;
    for (std::uint32_t i = 0; i < 3; ++i) {
        CHECK(job.group.job[living[i]].status(shrinks[i]).ok());
        CHECK(found[i]->job_ranks == living);
        CHECK(found[i]->context == 6); // free on all of them
        after.push_back(std::make_unique<Collectives>(job.group.job[living[i]], found[i]->context,
                                                      Members(found[i]->job_ranks, i)));
        job.memory[living[i]].assign(100'000, static_cast<std::int32_t>(i + 1));
        sums.push_back(after[i]->start(job.request(living[i], Collective::all_reduce, 20'000)));
    }
    REQUIRE(job.group.job.run_until([&] {
        for (std::size_t i = 0; i < 3; ++i) {
            if (!job.group.job[living[i]].is_complete(sums[i])) return false;
        }
        return true;
    }));
    for (const std::uint32_t rank : living) CHECK(job.memory[rank][50'000 + 19'999] == 6);
}
