#include "catch.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "msg/registrations.hpp"
#include "sim_job.hpp"

using namespace verbena;
using verbena::testing::SimJob;

namespace {

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
    std::vector<std::byte> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 131 + seed + (i >> 8));
    return data;
}

const sim::Personality& personality() {
    return *GENERATE(as<const sim::Personality*>{}, &sim::mlx5_like(), &sim::rxe_like(), &sim::rdm_like(),
                     &sim::ud_like());
}

} // namespace

TEST_CASE("messages of every size arrive whole, whichever end is first") {
    const sim::Personality& nic = personality();
    const bool receive_first = GENERATE(true, false);
    CAPTURE(nic.name, receive_first);
    SimJob job(2, 1, nic);
    for (std::size_t bytes : {0u, 1u, 8u, 187u, 188u, 189u, 4096u, 8191u, 8192u, 8193u, 100'000u, 3'000'001u}) {
        CAPTURE(bytes);
        const auto sent = pattern(bytes, 7);
        std::vector<std::byte> got(bytes + 16, std::byte{0xee});
        msg::OperationId send{};
        msg::OperationId receive{};
        if (receive_first) receive = job[1].receive(0, 0, 5, std::span(got).first(bytes));
        send = job[0].send(1, 0, 5, sent);
        if (!receive_first) {
            for (int step = 0; step < 50; ++step) job.step();
            receive = job[1].receive(0, 0, 5, std::span(got).first(bytes));
        }
        REQUIRE(job.run_until_complete(1, receive));
        REQUIRE(job.run_until_complete(0, send));
        const Status status = job[1].status(receive);
        CHECK(status.ok());
        CHECK(status.bytes == bytes);
        CHECK(status.source == 0);
        CHECK(status.tag == 5);
        CHECK(job[0].status(send).ok());
        CHECK(std::equal(sent.begin(), sent.end(), got.begin()));
        CHECK(got[bytes] == std::byte{0xee});
        job[0].release(send);
        job[1].release(receive);
    }
}

TEST_CASE("a message longer than its receive is truncated, and the next one is not harmed") {
    const sim::Personality& nic = personality();
    const std::size_t bytes = GENERATE(100u, 50'000u);
    const bool receive_first = GENERATE(true, false);
    CAPTURE(nic.name, bytes, receive_first);
    SimJob job(2, 2, nic);
    const auto sent = pattern(bytes, 1);
    std::vector<std::byte> got(64 + 16, std::byte{0xee});
    std::vector<std::byte> second(4);
    if (!receive_first) job[0].release(job[0].send(1, 0, 1, sent));
    if (!receive_first)
        for (int step = 0; step < 50; ++step) job.step();
    const auto receive = job[1].receive(0, 0, 1, std::span(got).first(64));
    if (receive_first) job[0].release(job[0].send(1, 0, 1, sent));
    REQUIRE(job.run_until_complete(1, receive));
    CHECK(job[1].status(receive).code == ErrorCode::truncated);
    CHECK(job[1].status(receive).bytes == 64);
    CHECK(std::memcmp(got.data(), sent.data(), 64) == 0);
    CHECK(got[64] == std::byte{0xee});
    const auto next = pattern(4, 9);
    job[0].release(job[0].send(1, 0, 1, next));
    const auto again = job[1].receive(0, 0, 1, second);
    REQUIRE(job.run_until_complete(1, again));
    CHECK(second == next);
}

TEST_CASE("messages match by context and tag, in the order in which they were sent") {
    SimJob job(2, 3, sim::mlx5_like());
    // Small and large ones mixed: a rendezvous must not be overtaken by an eager message of its own tag.
    const std::vector<std::size_t> sizes = {10, 20'000, 11, 30'000, 12};
    std::vector<std::vector<std::byte>> sent;
    for (std::size_t i = 0; i < sizes.size(); ++i) sent.push_back(pattern(sizes[i], static_cast<unsigned>(i)));
    for (const auto& message : sent) job[0].release(job[0].send(1, 0, 7, message));
    const auto other_tag = pattern(5, 50);
    const auto other_context = pattern(6, 60);
    job[0].release(job[0].send(1, 0, 8, other_tag));
    job[0].release(job[0].send(1, 3, 7, other_context));

    std::vector<std::byte> tagged(5);
    std::vector<std::byte> contextual(6);
    const auto first = job[1].receive(0, 0, 8, tagged);
    const auto second = job[1].receive(0, 3, 7, contextual);
    REQUIRE(job.run_until_complete(1, first));
    REQUIRE(job.run_until_complete(1, second));
    CHECK(tagged == other_tag);
    CHECK(contextual == other_context);
    for (const auto& message : sent) {
        std::vector<std::byte> got(message.size());
        const auto receive = job[1].receive(0, 0, 7, got);
        REQUIRE(job.run_until_complete(1, receive));
        CHECK(got == message);
    }
}

TEST_CASE("a rank can send to itself, in either order and any size") {
    SimJob job(1, 4, sim::mlx5_like());
    for (std::size_t bytes : {0u, 10u, 100'000u}) {
        const auto sent = pattern(bytes, 3);
        std::vector<std::byte> got(bytes);
        auto receive = job[0].receive(0, 0, 1, got);
        auto send = job[0].send(0, 0, 1, sent);
        CHECK(job[0].is_complete(send));
        CHECK(job[0].is_complete(receive));
        CHECK(got == sent);
        std::vector<std::byte> late(bytes);
        send = job[0].send(0, 0, 2, sent);
        CHECK(job[0].is_complete(send) == (bytes <= 8192)); // a small one is copied
        receive = job[0].receive(0, 0, 2, late);
        CHECK(job[0].is_complete(receive));
        CHECK(job[0].is_complete(send));
        CHECK(late == sent);
    }
}

TEST_CASE("calls that cannot be right end with invalid_argument and touch nothing") {
    SimJob job(2, 5, sim::mlx5_like());
    const auto to_nowhere = job[0].send(9, 0, 0, {});
    CHECK(job[0].status(to_nowhere).code == ErrorCode::invalid_argument);
    const auto from_null = job[0].receive(1, 0, 0, {static_cast<std::byte*>(nullptr), 8});
    CHECK(job[0].status(from_null).code == ErrorCode::invalid_argument);
    job[0].release(to_nowhere);
    CHECK(job[0].status(to_nowhere).code == ErrorCode::invalid_argument); // stale, not someone else's
    CHECK(job[0].is_quiet());
}

TEST_CASE("registered memory is used as it is, and a region may go while others stay") {
    SimJob job(2, 6, sim::mlx5_like());
    auto sent = pattern(200'000, 1);
    std::vector<std::byte> got(200'000);
    auto source = job[0].register_memory(sent, Access::messages);
    auto inner = job[0].register_memory(std::span(sent).subspan(100, 50'000), Access::messages);
    auto target = job[1].register_memory(got, Access::messages);
    inner.reset();
    const auto receive = job[1].receive(0, 0, 0, std::span(got).subspan(8, 150'000));
    const auto send = job[0].send(1, 0, 0, std::span(sent).subspan(16, 150'000));
    REQUIRE(job.run_until_complete(1, receive));
    REQUIRE(job.run_until_complete(0, send));
    CHECK(std::memcmp(got.data() + 8, sent.data() + 16, 150'000) == 0);
}
