/// What is wrong is said before the wire where it can be known, and by the wire where not; nothing else is lost by it.
#include "one_sided_job.hpp"

#include <algorithm>

using namespace verbena;
using namespace verbena::conformance;
using Kind = msg::OneSidedCall::Kind;

TEST_CASE("bounds, rights, alignment and owner are checked before anything is sent", "[one-sided]") {
    CONFORMANCE_PAIR(pair);
    CONFORMANCE_NEEDS(!pair.is_one_rank_each, "a device stands for one rank");
    OneSidedJob job(pair, 3);
    Exposed target(job[1], 64);
    Exposed only_read(job[1], 64, Access::remote_read);
    Exposed no_atomics(job[1], 64, Access::local_write | Access::remote_read | Access::remote_write);
    std::vector<std::byte> bytes(65);
    const RemoteRegion nothing;
    RemoteRegion::Fields other_job = target.region().fields();
    ++other_job.job;
    const RemoteRegion foreign(other_job);
    const auto code = [&](const msg::OneSidedCall& call, std::uint32_t rank = 1) {
        const auto id = job[0].one_sided(rank, call);
        REQUIRE(job[0].is_complete(id)); // at once
        const ErrorCode ended = job[0].status(id).code;
        job[0].release(id);
        return ended;
    };
    const std::span<std::byte> whole(bytes);
    CHECK(code(put_call(whole, target.region())) == ErrorCode::invalid_argument);
    CHECK(code(put_call(whole.first(1), target.region(), 64)) == ErrorCode::invalid_argument);
    CHECK(code(put_call(whole.first(1), target.region(), UINT64_MAX)) == ErrorCode::invalid_argument);
    CHECK(code(get_call(whole.first(33), target.region(), 32)) == ErrorCode::invalid_argument);
    CHECK(code(put_call(whole.first(8), only_read.region())) == ErrorCode::invalid_argument);
    CHECK(code(atomic_call(Kind::fetch_add, no_atomics.region(), 0, 1)) == ErrorCode::invalid_argument);
    CHECK(code(atomic_call(Kind::fetch_add, target.region(), 4, 1)) == ErrorCode::invalid_argument);
    CHECK(code(atomic_call(Kind::swap, target.region(), 64, 1)) == ErrorCode::invalid_argument);
    CHECK(code(get_call(whole.first(8), target.region()), 2) == ErrorCode::invalid_argument);
    CHECK(code(get_call(whole.first(8), target.region()), 0) == ErrorCode::invalid_argument);
    CHECK(code(get_call(whole.first(8), target.region()), 7) == ErrorCode::invalid_argument);
    CHECK(code(get_call(whole.first(8), nothing)) == ErrorCode::invalid_argument);
    CHECK(code(get_call(whole.first(8), foreign)) == ErrorCode::invalid_argument);
    CHECK(code(get_call({static_cast<std::byte*>(nullptr), 8}, target.region())) == ErrorCode::invalid_argument);
    auto signals = put_call(whole.first(8), target.region());
    signals.signal = &only_read.region();
    CHECK(code(signals) == ErrorCode::invalid_argument);
    signals.signal = &target.region();
    signals.signal_offset = 60;
    CHECK(code(signals) == ErrorCode::invalid_argument);
    CHECK(job[0].describe(1).messages_sent == 0);
    CHECK_THROWS_AS(only_read.registration().remote(Access::remote_write), Error);
    CHECK_THROWS_AS(target.registration().remote(Access::none), Error);
    CHECK_THROWS_AS(target.registration().remote(Access::local_write), Error);
    // What is right goes on.
    CHECK(job.end_of(0, job[0].one_sided(1, get_call(whole.first(64), target.region()))).ok());
}

TEST_CASE("a region that has gone is refused where it lay, and every operation has its end", "[one-sided]") {
    CONFORMANCE_PAIR(pair);
    OneSidedJob job(pair);
    const auto what = GENERATE(Kind::get, Kind::put, Kind::fetch_add);
    CAPTURE(static_cast<int>(what));
    Exposed gone(job[1], 50'000);
    Exposed lives(job[1], 50'000);
    lives.fill(3);
    std::vector<std::byte> first(50'000);
    std::vector<std::byte> second(50'000);
    // Known to both ends before: a connection made on demand must not be what fails.
    REQUIRE(job.end_of(0, job[0].one_sided(1, get_call(second, lives.region()))).ok());
    gone.deregister();
    const auto call = what == Kind::get   ? get_call(first, gone.region())
                      : what == Kind::put ? put_call(first, gone.region())
                                          : atomic_call(Kind::fetch_add, gone.region(), 0, 1);
    const auto bad = job[0].one_sided(1, call);
    std::vector<msg::OperationId> others;
    for (int i = 0; i < 20; ++i) {
        others.push_back(
            job[0].one_sided(1, get_call(std::span(second).subspan(2000u * i, 2000), lives.region(), 2000u * i)));
    }
    const auto flush = job[0].flush(1);
    const Status ended = job.end_of(0, bad);
    CAPTURE(describe(ended));
    std::size_t well = 0;
    for (const auto id : others) {
        const Status other = job.end_of(0, id);
        CHECK(other.code != ErrorCode::timed_out);
        if (other.ok()) ++well;
    }
    const Status flushed = job.end_of(0, flush);
    CAPTURE(describe(flushed));
    const std::string remote_access = job[0].describe(1).remote_access;
    const bool emulated =
        what == Kind::fetch_add ? job[0].describe(1).atomics == "the peer's engine" : remote_access != "RDMA";
    if (emulated) {
        // An operation's failure; the way to the peer is sound. A put is told by flush().
        CHECK((what == Kind::put ? flushed : ended).code == ErrorCode::refused);
        CHECK((what == Kind::put ? flushed : ended).scope == Scope::operation);
        CHECK(well == others.size());
        CHECK(std::ranges::equal(second, lives.bytes()));
        CHECK(job.end_of(0, job[0].flush(1)).ok());
    } else {
        CHECK(!ended.ok());
        CHECK(
            (ended.code == ErrorCode::refused || ended.code == ErrorCode::peer_lost)); // ofi_rxm closes the connection
    }
    CHECK(job[0].is_quiet());
    CHECK(job[0].describe(1).divergences == 0);
}

TEST_CASE("when a peer is gone every one-sided operation ends with it", "[one-sided]") {
    CONFORMANCE_PAIR(pair);
    OneSidedJob job(pair);
    Exposed target(job[1], 100'000);
    std::vector<std::byte> large(100'000);
    std::vector<std::byte> into(100'000);
    std::uint64_t before = 0;
    REQUIRE(job.end_of(0, job[0].one_sided(1, get_call(into, target.region()))).ok());
    std::vector<msg::OperationId> pending;
    for (int i = 0; i < 300; ++i)
        job[0].release(job[0].one_sided(1, put_call(std::span(large).first(100), target.region())));
    pending.push_back(job[0].one_sided(1, put_call(large, target.region())));
    pending.push_back(job[0].one_sided(1, get_call(into, target.region())));
    pending.push_back(job[0].one_sided(1, atomic_call(Kind::fetch_add, target.region(), 0, 1, 0, &before)));
    pending.push_back(job[0].one_sided(1, atomic_call(Kind::swap, target.region(), 0, 1, 0, &before)));
    pending.push_back(job[0].flush(1));
    target.deregister();
    job.end(1);
    Status news;
    news.code = ErrorCode::peer_lost;
    news.scope = Scope::channel;
    job[0].fail_peer(1, news, "the store says that it left");
    for (const auto id : pending) {
        const Status ended = job.end_of(0, id);
        CHECK((ended.ok() || ended.code == ErrorCode::peer_lost)); // what was done was done
    }
    CHECK(job[0].is_quiet());
    const Status later = job.end_of(0, job[0].one_sided(1, put_call(large, target.region())));
    CHECK(later.code == ErrorCode::peer_lost);
}
