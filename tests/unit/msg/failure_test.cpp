#include "catch.hpp"

#include <vector>

#include "sim_job.hpp"

using namespace verbena;
using verbena::testing::SimJob;

TEST_CASE("when a peer dies every operation on its channel ends once, with the first cause kept") {
    const auto* nic =
        GENERATE(as<const sim::Personality*>{}, &sim::mlx5_like(), &sim::rxe_like(), &sim::rdm_like(), &sim::ud_like());
    CAPTURE(nic->name);
    SimJob job(3, 21, *nic);
    std::vector<std::byte> small(64);
    std::vector<std::byte> large(200'000);
    std::vector<std::byte> into(200'000);
    std::vector<std::byte> fetched(200'000);

    // A large message of the peer is being fetched, ours wait to be fetched, receives wait, sends fill the window.
    job[1].release(job[1].send(0, 0, 9, large));
    const auto fetch = job[0].receive(1, 0, 9, fetched);
    std::vector<msg::OperationId> pending = {job[0].receive(1, 0, 1, into), job[0].send(1, 0, 2, large)};
    for (int i = 0; i < 200; ++i) job[0].release(job[0].send(1, 0, 3, small));
    pending.push_back(job[0].flush(1));
    job.kill(1);
    job.engines[1].reset();
    for (const auto id : pending) {
        REQUIRE(job.run_until_complete(0, id));
        CHECK(job[0].status(id).code == ErrorCode::peer_lost);
        CHECK(job[0].status(id).scope == Scope::channel);
        job[0].release(id);
    }
    job[0].release(fetch);
    const ChannelInfo channel = job[0].describe(1);
    CHECK_THAT(channel.failure, VERBENA_CONTAINS("operations ended with it"));
    CHECK(job[0].is_quiet());

    // What comes later ends at once, and the others go on.
    const auto later = job[0].send(1, 0, 0, small);
    CHECK(job[0].status(later).code == ErrorCode::peer_lost);
    const auto to_other = job[0].send(2, 0, 0, small);
    const auto from_other = job[2].receive(0, 0, 0, into);
    REQUIRE(job.run_until_complete(2, from_other));
    CHECK(job[2].status(from_other).ok());
    CHECK(job[0].status(to_other).ok());
}

TEST_CASE("an early large message whose sender died ends its receive with the channel's cause") {
    SimJob job(2, 24, sim::mlx5_like());
    std::vector<std::byte> large(100'000);
    std::vector<std::byte> got(large.size());
    job[1].release(job[1].send(0, 0, 1, large));
    for (int step = 0; step < 100; ++step) job.step();
    job[0].fail_peer(1, {ErrorCode::peer_lost}, "gone");
    const auto receive = job[0].receive(1, 0, 1, got);
    REQUIRE(job[0].is_complete(receive));
    CHECK(job[0].status(receive).code == ErrorCode::peer_lost);
}

TEST_CASE("a cancelled receive ends at once and takes no message, a cancelled send that waits is never sent") {
    msg::EngineOptions options;
    options.receive_window = 1;
    SimJob job(2, 25, sim::mlx5_like(), options);
    std::vector<std::byte> bytes(8, std::byte{1});
    std::vector<std::byte> got(8);
    const auto receive = job[1].receive(0, 0, 1, got);
    job[1].cancel(receive);
    CHECK(job[1].status(receive).code == ErrorCode::cancelled);
    const auto first = job[0].send(1, 0, 1, bytes);
    const auto second = job[0].send(1, 0, 1, bytes); // waits for a credit
    job[0].cancel(first);
    job[0].cancel(second);
    CHECK(job[0].status(first).ok());
    CHECK(job[0].status(second).code == ErrorCode::cancelled);
    for (int step = 0; step < 1000; ++step) job.step();
    CHECK(got == std::vector<std::byte>(8));
    const auto one = job[1].receive(0, 0, 1, got);
    REQUIRE(job.run_until_complete(1, one));
    const auto none = job[1].receive(0, 0, 1, got);
    for (int step = 0; step < 1000; ++step) job.step();
    CHECK_FALSE(job[1].is_complete(none));
}

TEST_CASE("before it is connected a channel takes nothing, and says so") {
    sim::Fabric fabric(1);
    mem::Spaces spaces("off");
    const auto device = fabric.device({});
    msg::EngineOptions options;
    options.size = 2;
    msg::Engine engine(*device, spaces, options);
    std::vector<std::byte> bytes(8);
    CHECK(engine.status(engine.send(1, 0, 0, bytes)).code == ErrorCode::unavailable);
    CHECK(engine.status(engine.receive(1, 0, 0, bytes)).code == ErrorCode::unavailable);
    CHECK(engine.status(engine.flush(1)).code == ErrorCode::unavailable);
}

TEST_CASE("a peer reported lost from outside ends its operations without waiting for the transport") {
    SimJob job(2, 22, sim::mlx5_like());
    std::vector<std::byte> into(100);
    const auto receive = job[0].receive(1, 0, 1, into);
    Status lost;
    lost.code = ErrorCode::peer_lost;
    lost.scope = Scope::channel;
    job[0].fail_peer(1, lost, "rank 1 is lost: its process ended");
    CHECK(job[0].status(receive).code == ErrorCode::peer_lost);
    CHECK_THAT(job[0].describe(1).failure, VERBENA_CONTAINS("rank 1 is lost: its process ended; 1 operations"));
    job[0].fail_peer(1, {ErrorCode::internal}, "a later cause");
    CHECK_THAT(job[0].describe(1).failure, VERBENA_CONTAINS("its process ended"));
}

TEST_CASE("an early message that has arrived can still be received after its sender died") {
    SimJob job(2, 23, sim::mlx5_like());
    std::vector<std::byte> sent(10, std::byte{5});
    std::vector<std::byte> got(10);
    job[1].release(job[1].send(0, 0, 1, sent));
    for (int step = 0; step < 100; ++step) job.step();
    job[0].fail_peer(1, {ErrorCode::peer_lost}, "gone");
    const auto receive = job[0].receive(1, 0, 1, got);
    CHECK(job[0].status(receive).ok());
    CHECK(got == sent);
    const auto nothing_more = job[0].receive(1, 0, 1, got);
    CHECK(job[0].status(nothing_more).code == ErrorCode::peer_lost);
}

TEST_CASE(
    "P27: a failed completion leaves one record with both ends, the path, the timers, the operation and its bytes") {
    msg::EngineOptions options;
    options.retry_count = 2;
    SimJob job(2, 26, sim::mlx5_like(), options);
    std::vector<std::byte> bytes(8);
    job.fabric.set_link(*job.devices[0], false);
    job[0].release(job[0].send(1, 0, 0, bytes));
    job[0].release(job[0].send(1, 0, 0, bytes));
    const auto flush = job[0].flush(1);
    REQUIRE(job.run_until_complete(0, flush));
    const ChannelInfo channel = job[0].describe(1);
    for (const char* part : {"of 40 bytes", "IBV_WC_RETRY_EXC_ERR (12)", "local sim0 (mlx5_like) qp 0x11",
                             "remote sim1 (mlx5_like) qp 0x11", "path MTU 4096", "timeout code 14", "2 retries",
                             "requests posted after it", "port 1 went down"}) {
        CHECK_THAT(channel.failure, VERBENA_CONTAINS(part));
    }
    CHECK(job[0].status(flush).cause == Cause{Origin::work_completion, 12, 0});
}

TEST_CASE("P32: what an error flushes is counted, and the cause is told once") {
    msg::EngineOptions options;
    options.receive_window = 512;
    SimJob job(2, 27, sim::mlx5_like(), options);
    Status lost;
    lost.code = ErrorCode::peer_lost;
    lost.scope = Scope::channel;
    job[0].fail_peer(1, lost, "rank 1 is lost");
    for (int step = 0; step < 1000; ++step) job.step();
    const ChannelInfo channel = job[0].describe(1);
    CHECK(channel.flushed == 512 + 16 + 1); // the window, the replies, the spare one
    CHECK_THAT(channel.failure, VERBENA_CONTAINS("rank 1 is lost") && VERBENA_CONTAINS("529 requests flushed"));
}

TEST_CASE("P31: fifty queue pairs that fail on first use leave the first cause each, and every operation ends") {
    std::vector<std::byte> bytes(8);
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        CAPTURE(seed);
        SimJob job(2, seed, sim::mlx5_like());
        job.fabric.kill(*job.devices[1]);
        std::vector<msg::OperationId> pending;
        for (int i = 0; i < 20; ++i) pending.push_back(job[0].send(1, 0, 0, bytes));
        pending.push_back(job[0].receive(1, 0, 0, bytes));
        pending.push_back(job[0].flush(1));
        for (const auto id : pending) REQUIRE(job.run_until_complete(0, id));
        CHECK(job[0].status(pending.back()).cause == Cause{Origin::work_completion, 12, 0});
        CHECK(job[0].status(job[0].send(1, 0, 0, bytes)).cause == Cause{Origin::work_completion, 12, 0});
        CHECK_THAT(job[0].describe(1).failure, VERBENA_CONTAINS("IBV_WC_RETRY_EXC_ERR (12)"));
    }
}

TEST_CASE("P33: a peer killed at any moment of a transfer, a flush that never comes, a completion that comes late") {
    const auto* nic = GENERATE(as<const sim::Personality*>{}, &sim::mlx5_like(), &sim::rxe_like(), &sim::adversary());
    CAPTURE(nic->name);
    std::vector<std::byte> small(64);
    std::vector<std::byte> large(50'000);
    std::vector<std::byte> into(50'000);
    for (std::uint64_t seed = 1; seed <= 170; ++seed) {
        CAPTURE(seed);
        msg::EngineOptions options;
        options.send_depth = 8;
        SimJob job(3, seed, *nic, options);
        std::vector<msg::OperationId> pending;
        for (int i = 0; i < 30; ++i)
            pending.push_back(job[0].send(1, 0, 1, i % 5 == 0 ? std::span<const std::byte>(large) : small));
        pending.push_back(job[0].receive(1, 0, 2, into));
        for (std::uint64_t step = 0; step < seed * 3; ++step) job.step();
        job.fabric.kill(*job.devices[1]);
        job.engines[1].reset(); // its queue pairs are gone, completions of theirs may still come
        pending.push_back(job[0].flush(1));
        for (const auto id : pending) {
            REQUIRE(job.run_until_complete(0, id));
            job[0].release(id);
        }
        CHECK(job[0].is_quiet());
        const auto receive = job[2].receive(0, 0, 0, into);
        job[0].release(job[0].send(2, 0, 0, small));
        REQUIRE(job.run_until_complete(2, receive)); // the others are served on
    }
}
