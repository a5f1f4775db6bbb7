/// How much may wait, who is told of room, and that no peer pays for another.
#include "catch.hpp"

#include <cstdint>
#include <vector>

#include "msg/operation_table.hpp"
#include "sim_job.hpp"

using namespace verbena;
using verbena::testing::SimJob;

namespace {

constexpr std::uint64_t value = 7;
std::span<const std::byte> eight_bytes() { return std::as_bytes(std::span(&value, 1)); }

/// Sends until one is not taken; how many were.
std::uint64_t fill(msg::Engine& engine, std::uint32_t to, std::span<const std::byte> message, std::uint64_t most) {
    for (std::uint64_t taken = 0; taken < most; ++taken) {
        const msg::OperationId id = engine.send(to, 0, 0, message);
        const bool refused = engine.is_complete(id) && engine.status(id).code == ErrorCode::would_block;
        engine.release(id);
        if (refused) return taken;
    }
    return most;
}

/// Receives `count` messages of 8 bytes and counts the right ones.
std::uint64_t drain(SimJob& job, std::uint32_t rank, std::uint32_t from, std::uint64_t count) {
    std::uint64_t right = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        std::uint64_t got = 0;
        const auto id = job[rank].receive(from, 0, 0, std::as_writable_bytes(std::span(&got, 1)));
        if (!job.run_until_complete(rank, id)) return right;
        right += got == value ? 1 : 0;
        job[rank].release(id);
    }
    return right;
}

} // namespace

TEST_CASE("P04: 100,000 sends without polling stay under the back-log limit, then would block, and none is lost") {
    const auto* nic = GENERATE(as<const sim::Personality*>{}, &sim::mlx5_like(), &sim::rxe_like(), &sim::rdm_like());
    CAPTURE(nic->name);
    msg::EngineOptions options;
    options.backlog_limit = 1 << 20;
    SimJob job(2, 31, *nic, options);
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    std::uint64_t blocked = 0;
    while (sent < 100'000) {
        const std::uint64_t taken = fill(job[0], 1, eight_bytes(), 100'000 - sent);
        REQUIRE(taken > 0); // asking again always gets further
        sent += taken;
        CHECK(job[0].describe(1).queued_bytes <= options.backlog_limit);
        if (sent == 100'000) break;
        ++blocked;
        CHECK(job[0].would_block(1).cause != WaitsFor::nothing);
        while (!job[0].has_room(1, 8)) {
            job.step();
            received += drain(job, 1, 0, 1);
        }
    }
    CHECK(blocked > 10);
    CHECK(received + drain(job, 1, 0, sent - received) == sent);
    CHECK(job[0].describe(1).queued_bytes == 0);
}

TEST_CASE("a message beyond the limit is taken where nothing waits, so that asking again always gets further") {
    msg::EngineOptions options;
    options.receive_window = 1;
    options.backlog_limit = 1;
    SimJob job(2, 32, sim::mlx5_like(), options);
    CHECK(fill(job[0], 1, eight_bytes(), 100) == 2); // one on its way, one waits
    CHECK(drain(job, 1, 0, 2) == 2);
    CHECK(job[0].has_room(1, 1'000'000));
}

TEST_CASE("who waits for room is called once, as soon as there is some, and may send from there") {
    msg::EngineOptions options;
    options.receive_window = 1;
    options.unexpected_limit = 0;
    options.backlog_limit = 3 * msg::Backlog::cost(8);
    SimJob job(2, 33, sim::mlx5_like(), options);
    const std::uint64_t first = fill(job[0], 1, eight_bytes(), 100);
    REQUIRE_FALSE(job[0].has_room(1, 8));
    int calls = 0;
    std::uint64_t from_callback = 0;
    job[0].on_room(1, 8, [&] {
        ++calls;
        CHECK(job[0].has_room(1, 8));
        from_callback = fill(job[0], 1, eight_bytes(), 100);
    });
    for (int step = 0; step < 1000; ++step) job.step();
    CHECK(calls == 0); // nobody receives
    CHECK(drain(job, 1, 0, first) == first);
    CHECK(calls == 1);
    CHECK(from_callback > 0);
    CHECK(drain(job, 1, 0, from_callback) == from_callback);
    CHECK(calls == 1);
}

TEST_CASE("who waits for room is called when the channel ends, and a send says why then") {
    msg::EngineOptions options;
    options.receive_window = 1;
    options.backlog_limit = 1;
    SimJob job(2, 34, sim::mlx5_like(), options);
    (void)fill(job[0], 1, eight_bytes(), 100);
    bool called = false;
    job[0].on_room(1, 8, [&] { called = true; });
    job[0].fail_peer(1, {ErrorCode::peer_lost}, "gone");
    job[0].progress();
    CHECK(called);
    CHECK(job[0].channel_status(1).code == ErrorCode::peer_lost);
}

TEST_CASE("a peer that is dead or receives nothing keeps no slot from the others, on one queue pair for all") {
    const auto depth = GENERATE(2u, 4u, 16u);
    const bool dead = GENERATE(true, false);
    CAPTURE(depth, dead);
    msg::EngineOptions options;
    options.send_depth = depth;
    options.receive_window = 64; // more than the queue has slots
    options.unexpected_limit = 0;
    SimJob job(4, 35, sim::rdm_like(), options);
    if (dead) job.fabric.kill(*job.devices[1]);
    for (int i = 0; i < 200; ++i) job[0].release(job[0].send(1, 0, 0, eight_bytes())); // to the dead or slow one first
    for (int i = 0; i < 200; ++i) {
        job[0].release(job[0].send(2, 0, 0, eight_bytes()));
        job[0].release(job[0].send(3, 0, 0, eight_bytes()));
    }
    // Well before the transport gives the dead one up: retries take half a second of virtual time.
    CHECK(drain(job, 2, 0, 200) == 200);
    CHECK(drain(job, 3, 0, 200) == 200);
    CHECK(job.fabric.now() < 100'000'000);
    CHECK(job[0].describe(1).failure.empty());
}

TEST_CASE("peers that all wait for one send queue go on at the same pace") {
    msg::EngineOptions options;
    options.send_depth = 4;
    options.receive_window = 64;
    SimJob job(4, 36, sim::rdm_like(), options);
    constexpr std::uint64_t each = 2000;
    std::vector<std::uint64_t> got(3 * each);
    std::vector<msg::OperationId> receives;
    for (std::uint32_t peer = 1; peer < 4; ++peer) {
        for (std::uint64_t i = 0; i < each; ++i) {
            receives.push_back(
                job[peer].receive(0, 0, 0, std::as_writable_bytes(std::span(got).subspan((peer - 1) * each + i, 1))));
        }
        for (std::uint64_t i = 0; i < each; ++i) job[0].release(job[0].send(peer, 0, 0, eight_bytes()));
    }
    const auto received = [&](std::uint32_t peer) { return job[peer].describe(0).messages_received; };
    REQUIRE(
        job.run_until([&] { return received(1) >= each / 2 || received(2) >= each / 2 || received(3) >= each / 2; }));
    for (std::uint32_t peer = 1; peer < 4; ++peer) CHECK(received(peer) >= each / 4);
}

TEST_CASE("a refusal that the ledger did not foresee is kept with the ledger as it was") {
    sim::FabricOptions fabric;
    fabric.faults.refuse_post = 0.2;
    SimJob job(2, 37, sim::mlx5_like(), {}, fabric);
    for (int i = 0; i < 100; ++i) job[0].release(job[0].send(1, 0, 0, eight_bytes()));
    CHECK(drain(job, 1, 0, 100) == 100);
    const ChannelInfo channel = job[0].describe(1);
    CHECK(channel.divergences > 0);
    CHECK_THAT(channel.last_divergence, VERBENA_CONTAINS("ENOMEM") && VERBENA_CONTAINS("of 128 slots taken"));
    CHECK(job[1].describe(0).receive_divergences > 0);
}
