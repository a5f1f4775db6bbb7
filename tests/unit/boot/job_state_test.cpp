#include "catch.hpp"

#include <verbena/error.hpp>

#include "boot/job_state.hpp"

using namespace verbena;
using namespace verbena::boot;

namespace {

/// The messages for one rank, decoded.
std::vector<Message> for_rank(const Outbox& out, std::uint32_t rank) {
    std::vector<Message> messages;
    for (const Outgoing& outgoing : out) {
        if (outgoing.rank == rank) messages.push_back(decode(*outgoing.message));
    }
    return messages;
}

JobState with_ranks(std::uint32_t size, std::initializer_list<std::uint32_t> ranks) {
    JobState job(size, 0u);
    Outbox out;
    for (const auto rank : ranks)
        REQUIRE(job.join({rank, size, "host" + std::to_string(rank)}, out).admission == Admission::admitted);
    REQUIRE(out.empty());
    return job;
}

Outbox after(JobState& job, std::uint32_t rank, Message message) {
    Outbox out;
    job.handle(rank, std::move(message), out);
    return out;
}

} // namespace

TEST_CASE("who may join is decided by size, rank and who is there") {
    JobState job = with_ranks(3, {0, 1});
    Outbox out;
    auto [join, admission] = GENERATE(table<Join, Admission>({{{2, 3, "x"}, Admission::admitted},
                                                              {{2, 4, "x"}, Admission::other_size},
                                                              {{3, 3, "x"}, Admission::rank_range},
                                                              {{0xffffffff, 3, "x"}, Admission::rank_range},
                                                              {{1, 3, "x"}, Admission::rank_taken}}));
    const Welcome welcome = job.join(join, out);
    CHECK(welcome.admission == admission);
    CHECK(welcome.holder == (admission == Admission::rank_taken ? "host1" : ""));
    CHECK(job.present() == (admission == Admission::admitted ? 3u : 2u));
}

TEST_CASE("a rank that left or was lost comes back only in a new job") {
    JobState job = with_ranks(2, {0, 1});
    Outbox out;
    if (GENERATE(true, false))
        job.lose(1, "gone", out);
    else
        job.handle(1, Leave{}, out);
    CHECK(job.join({1, 2, "x"}, out).admission == Admission::rank_is_over);
    job.handle(0, Put{"k", "old"}, out);
    job.handle(0, Leave{}, out);
    CHECK(job.present() == 0);
    CHECK(job.join({1, 2, "x"}, out).admission == Admission::admitted);
    CHECK(after(job, 1, Get{1, "k"}).empty());
}

TEST_CASE("a put answers every get that waits for its key, and no other") {
    JobState job = with_ranks(3, {0, 1, 2});
    CHECK(after(job, 0, Get{7, "a"}).empty());
    CHECK(after(job, 1, Get{8, "b"}).empty());
    const Outbox out = after(job, 2, Put{"a", "value"});
    REQUIRE(out.size() == 1);
    CHECK(std::get<Value>(for_rank(out, 0).at(0)).request == 7);
    CHECK(std::get<Value>(for_rank(out, 0).at(0)).value == "value");
    CHECK(after(job, 2, Put{"a", "again"}).empty());
}

TEST_CASE("the last part of an exchange sends all of them to all, large ones apart") {
    JobState job = with_ranks(3, {0, 1, 2});
    const std::string large(50'000, 'x');
    CHECK(after(job, 0, Contribute{"x", 0, large}).empty());
    CHECK(after(job, 2, Contribute{"x", 0, large}).empty());
    CHECK(after(job, 2, Contribute{"x", 0, large}).empty());
    const Outbox out = after(job, 1, Contribute{"x", 0, "small"});
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
        const auto messages = for_rank(out, rank);
        REQUIRE(messages.size() == 2);
        CHECK(std::get<Gathered>(messages[0]).values == std::vector<std::string>{large, "small"});
        CHECK(std::get<Gathered>(messages[1]).first_rank == 2);
        CHECK(std::get<Gathered>(messages[1]).values == std::vector<std::string>{large});
    }
    CHECK(after(job, 0, Contribute{"x", 0, "late repeat"}).empty());
    CHECK(std::get<Missing>(for_rank(after(job, 0, AskMissing{"x", 1}), 0).at(0)).total ==
          3); // it counts for no later round
    CHECK(after(job, 0, Contribute{"x", 1, "next"}).empty());
    CHECK_THROWS_WITH(after(job, 0, Contribute{"x", 3, ""}), VERBENA_CONTAINS("has not begun"));
}

TEST_CASE("who is missing is counted whole and listed in part") {
    JobState job = with_ranks(1000, {0, 5});
    after(job, 0, Contribute{"x", 0, ""});
    const Outbox out = after(job, 0, AskMissing{"x", 0});
    const auto missing = std::get<Missing>(for_rank(out, 0).at(0));
    CHECK(missing.total == 999);
    REQUIRE(missing.ranks.size() == max_missing_listed);
    CHECK(missing.ranks[3].host.empty());
    CHECK(missing.ranks[4].host == "host5");
}

TEST_CASE("a leave ends the exchanges that need the leaver, and only those") {
    JobState job = with_ranks(3, {0, 1, 2});
    after(job, 0, Contribute{"with", 0, ""});
    after(job, 1, Contribute{"with", 0, "from 1"});
    after(job, 0, Contribute{"without", 0, ""});
    const Outbox out = after(job, 1, Leave{});
    REQUIRE(out.size() == 3); // both others hear of it as well
    CHECK(std::get<RankLeft>(for_rank(out, 2).at(0)).rank == 1);
    REQUIRE(for_rank(out, 0).size() == 2);
    CHECK(std::get<RankLeft>(for_rank(out, 0).at(1)).rank == 1);
    CHECK(std::get<Unfinishable>(for_rank(out, 0).at(0)).name == "without");
    CHECK(std::get<Unfinishable>(for_rank(out, 0).at(0)).who.host == "host1");
    CHECK(std::get<Unfinishable>(for_rank(after(job, 2, Contribute{"without", 0, ""}), 2).at(0)).who.rank == 1);
    CHECK(for_rank(after(job, 2, Contribute{"with", 0, ""}), 0).size() == 1); // the leaver had given its part
}

TEST_CASE("what only a store says is no message of a client") {
    JobState job = with_ranks(2, {0});
    CHECK_THROWS_AS(after(job, 0, Closing{}), Error);
    CHECK_THROWS_AS(after(job, 0, Join{0, 2, ""}), Error);
}
