/// Time, chance and repeatability.
#include "rig.hpp"

#include <algorithm>
#include <array>
#include <tuple>

using namespace verbena;
using namespace verbena::sim;
using conformance::Buffer;
using conformance::request;
using wire::Opcode;

namespace {

/// What two runs are compared by.
using Outcome = std::tuple<std::uint64_t, std::uint64_t, Time>;

Outcome busy_run(std::uint64_t seed) {
    RigOptions options;
    options.seed = seed;
    options.fabric.faults = {0.1, 700, 0.1};
    Rig rig(options);
    Buffer local(*rig.pair.a, 512);
    Buffer remote(*rig.pair.b, 512);
    const std::array sges{local.sge()};
    for (std::uint64_t i = 0; i < 100; ++i) {
        const Opcode opcode = i % 3 == 0 ? Opcode::rdma_read : Opcode::rdma_write;
        (void)rig.link.a.try_post(request(i, opcode, sges, remote.remote()));
        if (i % 8 == 0) rig.settle();
    }
    rig.settle();
    return {rig.fabric.trace_hash(), rig.fabric.events_executed(), rig.fabric.now()};
}

} // namespace

TEST_CASE("one seed gives one run, another seed gives another") {
    const Outcome first = busy_run(42);
    CHECK(std::get<1>(first) > 100);
    CHECK(busy_run(42) == first);
    CHECK(std::get<0>(busy_run(43)) != std::get<0>(first));
}

TEST_CASE("time stands still when nothing is on its way") {
    Fabric fabric(1);
    CHECK_FALSE(fabric.step());
    fabric.run_until_idle();
    CHECK(fabric.now() == 0);
    fabric.run_until(500);
    CHECK(fabric.now() == 500);
    fabric.run_until(400); // the past stays the past
    CHECK(fabric.now() == 500);
}

TEST_CASE("run_until executes what is due and nothing later") {
    Rig rig;
    Buffer local(*rig.pair.a, 1);
    Buffer remote(*rig.pair.b, 1);
    local.fill(1);
    const std::array sges{local.sge()};
    rig.link.a.post(request(1, Opcode::rdma_write, sges, remote.remote()));
    const LinkModel& link = rig.fabric.link();
    const Time arrival = link.occupancy_ns(1) + link.latency_ns;
    rig.fabric.run_until(arrival - 1);
    CHECK(remote.is_clear(0, 1));
    rig.fabric.run_until(arrival);
    CHECK(remote.holds(1));
    CHECK(rig.fabric.now() == arrival);
}

TEST_CASE("events come by time, and in the order they were scheduled at one time") {
    const std::uint64_t seed = GENERATE(take(5, random(1ul, 1ul << 40)));
    INFO("seed " << seed);
    Random random(seed);
    EventQueue queue;
    std::vector<std::pair<Time, std::uint64_t>> expected;
    for (std::uint64_t i = 0; i < 500; ++i) {
        Event event;
        event.time = random.up_to(20);
        event.message = i;
        expected.emplace_back(event.time, i);
        queue.push(event);
    }
    std::ranges::sort(expected);
    for (const auto& [time, message] : expected) {
        REQUIRE(queue.next_time() == time);
        REQUIRE(queue.pop().message == message);
    }
    CHECK(queue.is_empty());
}

TEST_CASE("the random sequence is SplitMix64 on every platform") {
    Random random(0);
    CHECK(random.next() == 0xe220a8397b1dcdafu);
    CHECK(random.next() == 0x6e789e6aa1b965f4u);
    CHECK_FALSE(random.chance(0)); // draws nothing
    CHECK(random.next() == 0x06c45d188009454fu);
    CHECK(random.chance(1));
    CHECK(random.up_to(0) == 0);
    for (int i = 0; i < 1000; ++i) CHECK(random.up_to(3) <= 3);
}

TEST_CASE("a device or queue pair that is gone takes its events along") {
    Rig rig;
    Buffer local(*rig.pair.a, 1);
    auto remote = std::make_unique<Buffer>(*rig.pair.b, 1);
    const std::array sges{local.sge()};
    rig.link.a.post(request(1, Opcode::rdma_write, sges, remote->remote()));
    SECTION("the requester's queue pair") {
        rig.link.a.qp.reset();
        rig.settle();
        CHECK(rig.link.a.sent.empty());
        CHECK(remote->is_clear(0, 1));
    }
    SECTION("the responder's queue pair") {
        rig.link.b.qp.reset();
        rig.settle();
        REQUIRE(rig.link.a.sent.size() == 1);
        CHECK(rig.link.a.sent[0].status == wire::CompletionStatus::retry_exceeded);
    }
}
