/// RNR, retries, loss, a dead peer: what RC repairs, and when it gives up.
#include "rig.hpp"

#include <array>
#include <cstring>
#include <iostream>

using namespace verbena;
using namespace verbena::sim;
using conformance::Buffer;
using conformance::request;
using wire::CompletionStatus;
using wire::Opcode;
using wire::QueuePairState;

namespace {

constexpr Time timeout_14_ns = Time{4096} << 14;

} // namespace

TEST_CASE("without a receive, a send is repeated rnr_retry times and then fails") {
    const auto [retries, timer_code, pause_ns] = GENERATE(table<std::uint8_t, std::uint8_t, Time>({
        {0, 12, 640000}, {1, 12, 640000}, {3, 1, 10000}, {2, 0, 655360000}, // code 0 is the longest
    }));
    CAPTURE(int{retries}, int{timer_code});
    RigOptions options;
    options.queue_pair.rnr_retry = retries;
    options.queue_pair.min_rnr_timer = timer_code;
    Rig rig(options);
    Buffer local(*rig.pair.a, 8);
    const std::array sges{local.sge()};
    rig.link.a.post(request(1, Opcode::send, sges));
    rig.link.a.post(request(2, Opcode::send, sges, {}, 0));
    rig.settle();
    REQUIRE(rig.link.a.sent.size() == 2);
    CHECK(rig.link.a.sent[0].status == CompletionStatus::rnr_retry_exceeded);
    CHECK(rig.link.a.sent[0].cause == Cause{Origin::work_completion, 13, 0});
    CHECK(rig.link.a.sent[1].status == CompletionStatus::flushed);
    const LinkModel& link = rig.fabric.link();
    CHECK(rig.fabric.now() >= retries * pause_ns + 2 * link.latency_ns);
    CHECK(rig.fabric.now() < retries * pause_ns + (retries + 1u) * (2 * link.latency_ns + 100));
    CHECK(rig.link.a.qp->describe().state == QueuePairState::err);
    CHECK(rig.link.b.qp->describe().state == QueuePairState::rts); // the receiver notices nothing
}

TEST_CASE("a receive that is posted before the retries run out takes the message, once and in order") {
    Rig rig;
    Buffer local(*rig.pair.a, 2);
    Buffer remote(*rig.pair.b, 2);
    local.fill(3);
    const std::array first{local.sge(0, 1)};
    const std::array second{local.sge(1, 1)};
    rig.link.a.post(request(1, Opcode::send, first));
    rig.link.a.post(request(2, Opcode::send, second));
    rig.fabric.run_until(700000); // the first pause is over, the second runs
    rig.link.b.post_receive(11, remote.sge(0, 1));
    rig.link.b.post_receive(12, remote.sge(1, 1));
    rig.settle();
    REQUIRE(rig.link.b.received.size() == 2);
    CHECK(rig.link.b.received[0].wr_id == 11);
    CHECK(remote.holds(3));
    REQUIRE(rig.link.a.sent.size() == 2);
    CHECK(rig.link.a.sent[1].status == CompletionStatus::success);
}

TEST_CASE("rnr_retry 7 waits for ever") {
    RigOptions options;
    options.queue_pair.rnr_retry = 7;
    Rig rig(options);
    Buffer local(*rig.pair.a, 8);
    Buffer remote(*rig.pair.b, 8);
    const std::array sges{local.sge()};
    rig.link.a.post(request(1, Opcode::send, sges));
    rig.fabric.run_until(Time{1000000000});
    rig.link.a.poll();
    CHECK(rig.link.a.sent.empty());
    rig.link.b.post_receive(1, remote.sge());
    rig.settle();
    CHECK(rig.link.b.received.size() == 1);
}

TEST_CASE("an RDM peer keeps messages until there is a receive, and their order") {
    RigOptions options;
    options.personality = rdm_like();
    Rig rig(options);
    Buffer local(*rig.pair.a, 3);
    Buffer remote(*rig.pair.b, 3);
    local.fill(4);
    for (std::uint64_t i = 0; i < 3; ++i) {
        const std::array sges{local.sge(i, 1)};
        rig.link.a.post(request(i, Opcode::send, sges));
    }
    rig.settle();
    CHECK(rig.link.a.sent.empty());
    for (std::uint64_t i = 0; i < 3; ++i) {
        rig.link.b.post_receive(i, remote.sge(i, 1));
        rig.settle();
        CHECK(rig.link.b.received.size() == i + 1);
        CHECK(rig.link.a.sent.size() == i + 1);
    }
    CHECK(remote.holds(4));
}

TEST_CASE("a killed peer is noticed by the retries alone, after exactly their time") {
    const std::uint8_t retries = GENERATE(std::uint8_t{0}, std::uint8_t{1}, std::uint8_t{6}, std::uint8_t{7});
    CAPTURE(int{retries});
    RigOptions options;
    options.queue_pair.retry_count = retries;
    Rig rig(options);
    Buffer local(*rig.pair.a, 8);
    Buffer remote(*rig.pair.b, 8);
    const std::array sges{local.sge()};
    rig.fabric.kill(*rig.pair.b);
    rig.link.a.post_receive(5, local.sge());
    rig.settle();
    CHECK(rig.link.a.received.empty());
    CHECK(rig.link.a.qp->describe().state == QueuePairState::rts);

    rig.link.a.post(request(1, Opcode::rdma_write, sges, remote.remote()));
    rig.settle();
    REQUIRE(rig.link.a.sent.size() == 1);
    CHECK(rig.link.a.sent[0].status == CompletionStatus::retry_exceeded);
    CHECK(rig.fabric.now() == (retries + 1u) * timeout_14_ns);
    REQUIRE(rig.link.a.received.size() == 1);
    CHECK(rig.link.a.received[0].status == CompletionStatus::flushed);
    std::array<wire::AsyncEvent, 4> events;
    CHECK(rig.pair.a->poll_async(events) == 0);
}

TEST_CASE("retry_count 7 never gives up on Soft-RoCE") {
    RigOptions options;
    options.personality = rxe_like();
    options.queue_pair.retry_count = 7;
    Rig rig(options);
    Buffer local(*rig.pair.a, 8);
    Buffer remote(*rig.pair.b, 8);
    const std::array sges{local.sge()};
    rig.fabric.kill(*rig.pair.b);
    rig.link.a.post(request(1, Opcode::rdma_write, sges, remote.remote()));
    rig.fabric.run_until(100 * timeout_14_ns);
    rig.link.a.poll();
    CHECK(rig.link.a.sent.empty());
    CHECK(rig.link.a.qp->describe().state == QueuePairState::rts);
}

TEST_CASE("requests to a lost RDM peer end one by one, others are not touched") {
    RigOptions options;
    options.personality = rdm_like();
    Rig rig(options);
    const auto third = rig.fabric.device({rdm_like(), {}});
    const auto cq = third->create_completion_queue(16);
    wire::QueuePairOptions wanted = options.queue_pair;
    wanted.send_cq = wanted.receive_cq = cq.get();
    const auto other = third->create_queue_pair(wanted);
    const wire::PeerHandle to_other = rig.link.a.qp->resolve(other->address());
    Buffer local(*rig.pair.a, 8);
    Buffer remote(*rig.pair.b, 8);
    Buffer elsewhere(*third, 8);
    const std::array sges{local.sge()};
    rig.fabric.kill(*rig.pair.b);
    for (std::uint64_t i = 0; i < 3; ++i) rig.link.a.post(request(i, Opcode::rdma_write, sges, remote.remote()));
    rig.link.a.peer = to_other;
    rig.link.a.post(request(9, Opcode::rdma_write, sges, elsewhere.remote()));
    rig.settle();
    REQUIRE(rig.link.a.sent.size() == 4);
    CHECK(rig.link.a.sent[0].wr_id == 9); // completions of different peers come in any order
    CHECK(rig.link.a.sent[0].status == CompletionStatus::success);
    for (std::size_t i = 1; i < 4; ++i) CHECK(rig.link.a.sent[i].status == CompletionStatus::retry_exceeded);
    rig.link.a.post(request(10, Opcode::rdma_write, sges, elsewhere.remote()));
    rig.settle();
    CHECK(rig.link.a.sent.back().status == CompletionStatus::success);
}

TEST_CASE("a link that comes back in time costs retries only") {
    Rig rig;
    Buffer local(*rig.pair.a, 8);
    Buffer remote(*rig.pair.b, 8);
    local.fill(1);
    const std::array sges{local.sge()};
    rig.fabric.set_link(*rig.pair.b, false);
    rig.link.a.post(request(1, Opcode::rdma_write, sges, remote.remote()));
    rig.fabric.run_until(timeout_14_ns + timeout_14_ns / 2);
    CHECK(remote.is_clear(0, 8));
    rig.fabric.set_link(*rig.pair.b, true);
    rig.settle();
    REQUIRE(rig.link.a.sent.size() == 1);
    CHECK(rig.link.a.sent[0].status == CompletionStatus::success);
    CHECK(remote.holds(1));
    CHECK(rig.fabric.now() >= 2 * timeout_14_ns);
    CHECK(rig.fabric.now() < 2 * timeout_14_ns + 10000);
    std::array<wire::AsyncEvent, 4> events;
    REQUIRE(rig.pair.b->poll_async(events) == 2);
    CHECK(events[0].kind == wire::AsyncEventKind::port_error);
    CHECK(events[1].kind == wire::AsyncEventKind::port_active);
    CHECK(rig.pair.a->poll_async(events) == 0);
}

TEST_CASE("under loss every message takes effect exactly once and in order") {
    const auto* const personality = GENERATE(&mlx5_like(), &rxe_like(), &rdm_like());
    const std::uint64_t seed = GENERATE(take(4, random(1ul, 1ul << 40)));
    INFO(personality->name << ", seed " << seed);
    RigOptions options;
    options.personality = *personality;
    options.seed = seed;
    options.fabric.faults = {0.08, 3000, 0};
    options.queue_pair.retry_count = 15; // no seed shall run out of them
    Rig rig(options);
    Buffer counter(*rig.pair.b, 8);
    Buffer before(*rig.pair.a, 8);
    Buffer source(*rig.pair.a, 8);
    Buffer target(*rig.pair.b, 8);
    const std::array fetched{before.sge()};
    constexpr std::uint64_t rounds = 60;
    for (std::uint64_t i = 0; i < rounds; ++i) {
        rig.link.b.post_receive(i, target.sge());
        auto add = request(i, Opcode::atomic_fetch_add, fetched, counter.remote());
        add.operand = 1;
        rig.link.a.post(add);
        std::memcpy(source.bytes().data(), &i, sizeof i);
        const std::array sges{source.sge()};
        rig.link.a.post(request(i, Opcode::send, sges, {}, wire::signaled | wire::inlined));
        if (i % 4 == 3) rig.settle();
    }
    rig.settle();
    std::uint64_t value = 0;
    std::memcpy(&value, counter.bytes().data(), sizeof value);
    CHECK(value == rounds);
    std::memcpy(&value, target.bytes().data(), sizeof value);
    CHECK(value == rounds - 1);
    REQUIRE(rig.link.b.received.size() == rounds);
    for (std::uint64_t i = 0; i < rounds; ++i) CHECK(rig.link.b.received[i].wr_id == i);
    REQUIRE(rig.link.a.sent.size() == 2 * rounds);
    for (const auto& each : rig.link.a.sent) CHECK(each.status == CompletionStatus::success);
}
