/// The cases of section 1 of the user reports, on the simulated NIC: which limit was hit is known before a post, and no
/// accounting of ours is ever the reason why something fails.
#include "catch.hpp"

#include <array>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "msg/header.hpp"
#include "sim_job.hpp"

using namespace verbena;
using verbena::testing::SimJob;

namespace {

const sim::Personality& any_personality() {
    return *GENERATE(as<const sim::Personality*>{}, &sim::mlx5_like(), &sim::rxe_like(), &sim::rdm_like(),
                     &sim::adversary());
}

/// `count` numbers go from rank 0 to rank 1; true when all arrive in order.
bool carry(SimJob& job, std::uint64_t count) {
    std::vector<std::uint64_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 0u);
    std::vector<std::uint64_t> got(count, ~std::uint64_t{0});
    for (std::uint64_t i = 0; i < count; ++i)
        job[0].release(job[0].send(1, 0, 0, std::as_bytes(std::span(numbers).subspan(i, 1))));
    for (std::uint64_t i = 0; i < count; ++i) {
        const auto id = job[1].receive(0, 0, 0, std::as_writable_bytes(std::span(got).subspan(i, 1)));
        if (!job.run_until_complete(1, id)) return false;
        job[1].release(id);
    }
    return got == numbers;
}

} // namespace

TEST_CASE("P01: a full queue, too many SGEs and too long an inline payload are told apart, with nothing posted") {
    sim::Fabric fabric(1);
    const auto a = fabric.device({});
    const auto b = fabric.device({});
    const auto queue_a = a->create_completion_queue(64);
    const auto queue_b = b->create_completion_queue(64);
    wire::QueuePairOptions options;
    options.send_depth = 16;
    options.send_sges = 2;
    options.inline_bytes = 60; // what 2 SGEs leave room for in a WQE of this NIC
    options.send_cq = options.receive_cq = queue_a.get();
    const auto sender = a->create_queue_pair(options);
    options.send_cq = options.receive_cq = queue_b.get();
    const auto receiver = b->create_queue_pair(options);
    sender->connect(receiver->address());
    receiver->connect(sender->address());
    REQUIRE(sender->granted().send_depth == 16);
    std::array<std::byte, 256> bytes{};
    const auto region = a->register_memory(bytes, Access::none);
    const wire::Sge one{bytes.data(), 8, region->lkey()};
    const std::array three{one, one, one};
    const auto post = [&](std::span<const wire::Sge> sges, std::uint8_t flags) {
        wire::WorkRequest request;
        request.sges = sges;
        request.flags = flags;
        return sender->post_send({&request, 1}).refusal;
    };
    CHECK(post(three, 0) == wire::Refusal::too_many_sges);
    const wire::Sge long_one{bytes.data(), sender->granted().inline_bytes + 1, region->lkey()};
    CHECK(post({&long_one, 1}, wire::inlined) == wire::Refusal::inline_too_long);
    CHECK(fabric.statistics().requests == 0);
    for (int i = 0; i < 16; ++i) CHECK(post({&one, 1}, 0) == wire::Refusal::none);
    CHECK(post({&one, 1}, 0) == wire::Refusal::queue_full);
    CHECK(post(three, 0) == wire::Refusal::too_many_sges); // the fault of the request is named first

    // The engine makes none of these mistakes: the 17th waits, and the provider sees no post that it must refuse.
    msg::EngineOptions engine;
    engine.send_depth = 16;
    SimJob job(2, 41, sim::mlx5_like(), engine);
    CHECK(carry(job, 500));
    CHECK(job.fabric.statistics().queue_full == 0);
}

TEST_CASE("P02: requests never outnumber the granted depth, control traffic counted like data") {
    const sim::Personality& nic = any_personality();
    const auto depth = GENERATE(1u, 2u, 7u, 64u);
    CAPTURE(nic.name, depth);
    msg::EngineOptions options;
    options.send_depth = depth;
    options.receive_window = 3;
    options.eager_limit = 256;
    SimJob job(2, 42, nic, options);
    std::mt19937_64 random(42);
    const std::vector<std::byte> message(2000, std::byte{1});
    std::vector<std::byte> got(message.size());
    for (int i = 0; i < 1500; ++i) { // data, large messages with their answers, credits, flushes, both ways
        const auto from = static_cast<std::uint32_t>(random() % 2);
        const std::size_t bytes = random() % 4 == 0 ? message.size() : random() % 200;
        job[from].release(job[from].send(1 - from, 0, 0, std::span(message).first(bytes)));
        if (random() % 8 == 0) job[from].release(job[from].flush(1 - from));
        const auto receive = job[1 - from].receive(from, 0, 0, got);
        REQUIRE(job.run_until_complete(1 - from, receive));
        REQUIRE(job[1 - from].status(receive).ok());
        job[1 - from].release(receive);
    }
    // The simulated NIC counts its slots by itself; SimJob's end looks as well.
    CHECK(job.fabric.statistics().queue_full == 0);
    CHECK(job.fabric.statistics().receiver_not_ready == 0);
}

TEST_CASE(
    "P05: a user who wants no completion of any send, ten times the queue's depth, neither stalls nor fails a post") {
    const sim::Personality& nic = any_personality();
    const auto depth = GENERATE(1u, 2u, 32u, 500u);
    CAPTURE(nic.name, depth);
    msg::EngineOptions options;
    options.send_depth = depth;
    options.eager_limit = 128;
    SimJob job(2, 43, nic, options);
    CHECK(carry(job, 10 * depth));
}

TEST_CASE(
    "P06: where a completion queue holds no more another is made, and a queue pair too large for any is refused") {
    sim::Personality small = sim::mlx5_like();
    small.capabilities.max_completions = 64;
    msg::EngineOptions options;
    options.send_depth = 16;
    options.receive_window = 8; // with replies and the spare one, 41 entries a queue pair
    {
        SimJob job(4, 44, small, options); // three queue pairs a rank: 123 entries
        CHECK(carry(job, 200));
        CHECK(job.fabric.statistics().completion_queue_overruns == 0);
    }
    options.receive_window = 64;
    CHECK_THROWS_WITH(SimJob(2, 44, small, options), VERBENA_CONTAINS("97") && VERBENA_CONTAINS("64"));
}

TEST_CASE("P07: completions of four times the ring's depth, read late, are all there once and in order") {
    msg::EngineOptions options;
    options.send_depth = 8;
    options.receive_window = 8;
    SimJob job(2, 45, sim::mlx5_like(), options);
    std::vector<std::uint64_t> numbers(400);
    std::iota(numbers.begin(), numbers.end(), 0u);
    std::vector<msg::OperationId> sends;
    for (const std::uint64_t& each : numbers) sends.push_back(job[0].send(1, 0, 0, std::as_bytes(std::span(&each, 1))));
    job.fabric.run_until_idle(); // nobody polls meanwhile
    std::vector<std::uint64_t> got(numbers.size());
    std::vector<msg::OperationId> receives;
    for (std::uint64_t& each : got)
        receives.push_back(job[1].receive(0, 0, 0, std::as_writable_bytes(std::span(&each, 1))));
    while (job[0].progress() + job[1].progress() > 0 || job.fabric.step()) job.fabric.run_until_idle();
    for (const auto id : sends) CHECK(job[0].is_complete(id));
    for (const auto id : receives) REQUIRE(job[1].is_complete(id));
    CHECK(got == numbers);
    CHECK(job.fabric.statistics().completion_queue_overruns == 0);
}

TEST_CASE("P09: a rank whose buffers are all held by messages nobody takes still serves another peer") {
    const sim::Personality& nic = *GENERATE(as<const sim::Personality*>{}, &sim::mlx5_like(), &sim::rdm_like());
    CAPTURE(nic.name);
    msg::EngineOptions options;
    options.receive_window = 64;
    options.unexpected_limit = 0;
    SimJob job(3, 46, nic, options);
    const std::uint64_t number = 9;
    const auto bytes = std::as_bytes(std::span(&number, 1));
    for (int i = 0; i < 65; ++i) job[0].release(job[0].send(1, 0, 0, bytes)); // rank 1 is frozen
    for (int i = 0; i < 2000; ++i) job.step();
    CHECK(job[0].describe(1).waiting_for == "peer credit"); // held back, not lost
    std::uint64_t got = 0;
    const auto receive = job[1].receive(2, 0, 0, std::as_writable_bytes(std::span(&got, 1)));
    job[2].release(job[2].send(1, 0, 0, bytes));
    REQUIRE(job.run_until_complete(1, receive));
    CHECK(got == 9);
}

TEST_CASE("P10: a thousand windows pass on a receive queue of each peer's own and on one for all") {
    const sim::Personality& nic = any_personality();
    const auto window = GENERATE(1u, 4u);
    CAPTURE(nic.name, window);
    msg::EngineOptions options;
    options.receive_window = window;
    SimJob job(3, 47, nic, options);
    CHECK(carry(job, 1000 * window));
    // A peer that stops is named with what it is waited for.
    job.engines[1].reset();
    const std::uint64_t number = 1;
    for (std::uint32_t i = 0; i < 2 * window; ++i)
        job[0].release(job[0].send(1, 0, 0, std::as_bytes(std::span(&number, 1))));
    CHECK(job[0].describe(1).credits == 0);
    CHECK(job[0].describe(1).waiting_for == "peer credit");
}

TEST_CASE("P12: of messages that nobody takes only so many bytes are kept, the sender waits, and all arrive later") {
    msg::EngineOptions options;
    options.unexpected_limit = 256 * 1024;
    options.eager_limit = 4096;
    SimJob job(2, 48, sim::mlx5_like(), options);
    constexpr std::size_t bytes = 4096;
    constexpr std::uint32_t count = 1024; // 4 MiB, sixteen times the limit
    const std::vector<std::byte> message(bytes, std::byte{5});
    for (std::uint32_t i = 0; i < count; ++i) job[0].release(job[0].send(1, 0, 0, message));
    for (int i = 0; i < 50'000; ++i) job.step();
    const ChannelInfo sender = job[0].describe(1);
    CHECK(sender.waiting_for == "peer credit");
    CHECK(sender.messages_sent == options.unexpected_limit / bytes + options.receive_window);
    std::vector<std::byte> got(bytes);
    for (std::uint32_t i = 0; i < count; ++i) {
        const auto receive = job[1].receive(0, 0, 0, got);
        REQUIRE(job.run_until_complete(1, receive));
        job[1].release(receive);
    }
    CHECK(got == message);
}

TEST_CASE("P26: whatever inline size is granted, a channel is made and longer sends take the copied path") {
    sim::Personality nic = sim::mlx5_like();
    nic.sizing.rule = sim::Sizing::Rule::as_asked;
    nic.sizing.max_inline_bytes = GENERATE(0u, 64u, 101u, 400u);
    CAPTURE(nic.sizing.max_inline_bytes);
    msg::EngineOptions options;
    options.inline_limit = 220;
    SimJob job(2, 49, nic, options);
    CHECK(job[0].describe(1).inline_bytes == std::min(nic.sizing.max_inline_bytes, 220u));
    for (const std::size_t bytes : {0u, 31u, 32u, 33u, 68u, 69u, 70u, 188u, 189u, 368u, 369u, 1000u}) {
        const std::vector<std::byte> message(bytes, static_cast<std::byte>(bytes));
        std::vector<std::byte> got(bytes);
        job[0].release(job[0].send(1, 0, 0, message));
        const auto receive = job[1].receive(0, 0, 0, got);
        REQUIRE(job.run_until_complete(1, receive));
        CHECK(got == message);
        job[1].release(receive);
    }
}
