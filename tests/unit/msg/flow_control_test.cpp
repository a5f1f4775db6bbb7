#include "catch.hpp"

#include <cstdint>
#include <numeric>
#include <vector>

#include "msg/operation_table.hpp"
#include "sim_job.hpp"

using namespace verbena;
using verbena::testing::SimJob;

namespace {

/// The bytes of number `value`, valid for the whole program: a queued send still reads its buffer.
std::span<const std::byte> number(std::uint64_t value) {
    static const auto numbers = [] {
        std::vector<std::uint64_t> all(10'000);
        std::iota(all.begin(), all.end(), 0u);
        return all;
    }();
    return std::as_bytes(std::span(numbers).subspan(value, 1));
}

} // namespace

TEST_CASE("many small messages flow through any queue depth and window without a refused post") {
    const auto depth = GENERATE(1u, 2u, 3u, 16u, 128u);
    const auto window = GENERATE(1u, 2u, 64u);
    const auto* nic =
        GENERATE(as<const sim::Personality*>{}, &sim::mlx5_like(), &sim::rxe_like(), &sim::rdm_like(), &sim::ud_like());
    CAPTURE(depth, window, nic->name);
    msg::EngineOptions options;
    options.send_depth = depth;
    options.receive_window = window;
    SimJob job(2, 11, *nic, options);
    constexpr std::uint64_t messages = 2000;
    // The sender never polls for its own sake: it posts everything first.
    for (std::uint64_t i = 0; i < messages; ++i) job[0].release(job[0].send(1, 0, 0, number(i)));
    for (std::uint64_t i = 0; i < messages; ++i) {
        std::uint64_t got = 0;
        const auto receive = job[1].receive(0, 0, 0, std::as_writable_bytes(std::span(&got, 1)));
        REQUIRE(job.run_until_complete(1, receive));
        REQUIRE(got == i);
        job[1].release(receive);
    }
    CHECK(job[0].describe(1).divergences == 0);
    CHECK(job[0].describe(1).failure.empty());
}

TEST_CASE("messages nobody asked for stay within their limit, the sender stalls, and nothing is lost") {
    msg::EngineOptions options;
    options.unexpected_limit = 64 * 1024;
    options.receive_window = 8;
    const auto* nic = GENERATE(as<const sim::Personality*>{}, &sim::mlx5_like(), &sim::ud_like());
    SimJob job(2, 12, *nic, options);
    constexpr std::size_t bytes = 4096;
    constexpr unsigned messages = 200;
    std::vector<std::vector<std::byte>> sent;
    for (unsigned i = 0; i < messages; ++i) sent.emplace_back(bytes, static_cast<std::byte>(i));
    for (const auto& message : sent) job[0].release(job[0].send(1, 0, 0, message));
    for (int step = 0; step < 20'000; ++step) job.step();
    const ChannelInfo stalled = job[0].describe(1);
    CHECK(stalled.credits == 0);
    CHECK(stalled.waiting_for == "peer credit");
    // 16 copied, 8 held in their receive buffers, or copied without their credits; the rest is still with the sender.
    CHECK(stalled.queued == messages - 64 * 1024 / bytes - 8);
    for (unsigned i = 0; i < messages; ++i) {
        std::vector<std::byte> got(bytes);
        const auto receive = job[1].receive(0, 0, 0, got);
        REQUIRE(job.run_until_complete(1, receive));
        REQUIRE(std::equal(got.begin(), got.end(), sent[i].begin())); // not ==: a failure would print 4096 bytes
        job[1].release(receive);
    }
}

TEST_CASE("beyond the back-log limit a send ends with would_block and its cause, and asking again succeeds") {
    msg::EngineOptions options;
    options.receive_window = 1;
    options.backlog_limit = 4 * msg::Backlog::cost(8);
    SimJob job(2, 13, sim::mlx5_like(), options);
    std::vector<msg::OperationId> accepted;
    msg::OperationId refused{};
    for (;;) {
        const auto send = job[0].send(1, 0, 0, number(accepted.size()));
        if (job[0].status(send).code == ErrorCode::would_block && job[0].is_complete(send)) {
            refused = send;
            break;
        }
        accepted.push_back(send);
        REQUIRE(accepted.size() < 100);
    }
    CHECK(accepted.size() == 5); // one on its way, four waiting
    const WouldBlock why = job[0].would_block(1);
    CHECK(why.cause == WaitsFor::peer_credit);
    CHECK(why.waiting_bytes == options.backlog_limit);
    CHECK(why.limit_bytes == options.backlog_limit);
    std::uint64_t got = 0;
    for (std::uint64_t i = 0; i < accepted.size(); ++i) {
        const auto receive = job[1].receive(0, 0, 0, std::as_writable_bytes(std::span(&got, 1)));
        REQUIRE(job.run_until_complete(1, receive));
        REQUIRE(got == i);
    }
    job[0].release(refused);
    const auto again = job[0].send(1, 0, 0, number(99));
    const auto receive = job[1].receive(0, 0, 0, std::as_writable_bytes(std::span(&got, 1)));
    REQUIRE(job.run_until_complete(1, receive));
    CHECK(job[0].status(again).ok());
    CHECK(got == 99);
}

TEST_CASE("a flush completes when everything before it was acknowledged, unsignaled tail included") {
    const auto* nic = GENERATE(as<const sim::Personality*>{}, &sim::mlx5_like(), &sim::rxe_like(), &sim::rdm_like());
    CAPTURE(nic->name);
    SimJob job(2, 14, *nic);
    for (std::uint64_t i = 0; i < 5; ++i) job[0].release(job[0].send(1, 0, 0, number(i)));
    const auto large = std::vector<std::byte>(100'000);
    std::vector<std::byte> got(large.size());
    const auto send = job[0].send(1, 0, 1, large);
    const auto flush = job[0].flush(1);
    for (int step = 0; step < 10'000; ++step) job.step();
    CHECK_FALSE(job[0].is_complete(flush)); // nobody has fetched the large one
    const auto receive = job[1].receive(0, 0, 1, got);
    REQUIRE(job.run_until_complete(0, flush));
    CHECK(job[0].is_complete(send));
    CHECK(job[1].is_complete(receive));
    const auto idle = job[0].flush(1);
    REQUIRE(job.run_until_complete(0, idle));
}

TEST_CASE("a flush completes although unsignaled replies follow its probe, and while large messages keep coming in") {
    const auto* nic = GENERATE(as<const sim::Personality*>{}, &sim::mlx5_like(), &sim::rdm_like());
    CAPTURE(nic->name);
    SimJob job(2, 16, *nic);
    const std::vector<std::byte> large(20'000);
    std::vector<std::byte> got(large.size());
    std::uint64_t ignored = 0;
    // The peer's messages are fetched and answered all the time; a flush starts at every possible moment among that.
    for (int offset = 0; offset < 60; ++offset) {
        const auto receive = job[0].receive(1, 0, 1, got);
        job[1].release(job[1].send(0, 0, 1, large));
        job[0].release(job[0].send(1, 0, 2, number(1)));
        for (int step = 0; step < offset; ++step) job.step();
        const auto flush = job[0].flush(1);
        REQUIRE(job.run_until(
            [&] {
                if (job[0].is_complete(flush)) return true;
                job[0].release(job[0].receive(1, 0, 3, got)); // more and more come in
                job[1].release(job[1].send(0, 0, 3, large));
                return false;
            },
            3000));
        REQUIRE(job.run_until_complete(0, receive));
        job[0].release(flush);
        job[0].release(receive);
        const auto drain = job[1].receive(0, 0, 2, std::as_writable_bytes(std::span(&ignored, 1)));
        REQUIRE(job.run_until_complete(1, drain));
        job[1].release(drain);
    }
}

TEST_CASE("a large message is answered also while the peer holds as many of ours as it has room for") {
    msg::EngineOptions options;
    options.unexpected_limit = 0;
    options.receive_window = GENERATE(1u, 2u, 8u);
    SimJob job(2, 17, sim::mlx5_like(), options);
    for (std::uint64_t i = 0; i < 20; ++i) job[0].release(job[0].send(1, 0, 5, number(i))); // nobody asks for them
    const std::vector<std::byte> large(50'000, std::byte{3});
    std::vector<std::byte> got(large.size());
    const auto receive = job[0].receive(1, 0, 1, got);
    const auto send = job[1].send(0, 0, 1, large);
    REQUIRE(job.run_until_complete(0, receive));
    REQUIRE(job.run_until_complete(1, send));
    CHECK(got == large);
}

TEST_CASE("a provider that refuses though there is room is counted and survived") {
    sim::FabricOptions fabric;
    fabric.faults.refuse_post = 0.2;
    SimJob job(2, 15, sim::mlx5_like(), {}, fabric);
    for (std::uint64_t i = 0; i < 500; ++i) {
        job[0].release(job[0].send(1, 0, 0, number(i)));
        std::uint64_t got = 0;
        const auto receive = job[1].receive(0, 0, 0, std::as_writable_bytes(std::span(&got, 1)));
        REQUIRE(job.run_until_complete(1, receive));
        REQUIRE(got == i);
        job[1].release(receive);
    }
    CHECK(job[0].describe(1).divergences > 20);
}
