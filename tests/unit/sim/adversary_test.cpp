/// What only the adversary does: all of it allowed to a NIC or seen of a driver, and each on its own.
#include "rig.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <set>

using namespace verbena;
using namespace verbena::sim;
using conformance::Buffer;
using conformance::request;
using wire::CompletionStatus;
using wire::Opcode;
using wire::Refusal;

namespace {

Personality quiet_adversary() {
    Personality quiet = mlx5_like();
    quiet.max_read_delay_ns = 0;
    return quiet;
}

} // namespace

TEST_CASE("P03: whatever code and sign a provider refuses with, the caller sees a full queue and a positive errno") {
    RigOptions options;
    options.personality = quiet_adversary();
    options.personality.full_codes = adversary().full_codes;
    options.personality.faults.refuse_post = 0.5;
    Rig rig(options);
    Buffer local(*rig.pair.a, 1);
    Buffer remote(*rig.pair.b, 1);
    const std::array sges{local.sge()};
    std::set<int> codes;
    std::uint64_t refused = 0;
    for (std::uint64_t i = 0; i < 300; ++i) {
        const wire::PostResult result = rig.link.a.try_post(request(i, Opcode::rdma_write, sges, remote.remote()));
        rig.settle();
        if (result.accepted == 1) continue;
        ++refused;
        CHECK(result.refusal == Refusal::queue_full);
        codes.insert(result.native_errno);
    }
    CHECK(codes == std::set<int>{ENOMEM, EAGAIN, ENOSPC});
    CHECK(rig.fabric.statistics().provoked_refusals == refused);
    CHECK(rig.fabric.statistics().queue_full == 0);
    // Another errno is not swallowed.
    rig.link.a.qp->fail();
    Personality closed = rdm_like();
    RigOptions other;
    other.personality = closed;
    Rig broken(other);
    Buffer bytes(*broken.pair.a, 1);
    const std::array list{bytes.sge()};
    broken.link.a.qp->fail();
    CHECK(broken.link.a.try_post(request(1, Opcode::send, list)).refusal == Refusal::queue_broken);
}

TEST_CASE("WRITEs may be placed out of order, and whatever else follows comes after all of them") {
    RigOptions options;
    options.personality = quiet_adversary();
    options.personality.max_write_delay_ns = 20'000;
    bool overtaken = false;
    for (options.seed = 1; options.seed <= 30; ++options.seed) {
        CAPTURE(options.seed);
        Rig rig(options);
        Buffer one(*rig.pair.a, 8);
        Buffer two(*rig.pair.a, 8);
        Buffer seen(*rig.pair.a, 8);
        Buffer remote(*rig.pair.b, 16);
        one.fill(1);
        two.fill(2);
        const std::array first{one.sge()};
        const std::array second{two.sge()};
        const std::array fetched{seen.sge()};
        rig.link.a.post(request(1, Opcode::rdma_write, first, remote.remote(0)));
        rig.link.a.post(request(2, Opcode::rdma_write, second, remote.remote(8)));
        while (remote.is_clear(0, 16)) REQUIRE(rig.fabric.step());
        overtaken = overtaken || remote.is_clear(0, 8); // "data, then flag": the flag came first
        rig.link.a.post(request(3, Opcode::rdma_write, second, remote.remote(0)));
        rig.link.a.post(request(4, Opcode::rdma_read, fetched, remote.remote(0)));
        rig.settle();
        REQUIRE(rig.link.a.sent.size() == 4);
        CHECK(seen.holds(2)); // WRITE then READ keeps its order (IBTA)
    }
    CHECK(overtaken);
}

TEST_CASE("late completions keep their order, and time gets there also when nothing else is on its way") {
    RigOptions options;
    options.personality = quiet_adversary();
    options.personality.max_completion_delay_ns = 50'000;
    Rig rig(options);
    Buffer local(*rig.pair.a, 1);
    Buffer remote(*rig.pair.b, 1);
    const std::array sges{local.sge()};
    for (std::uint64_t i = 0; i < 8; ++i) rig.link.a.post(request(i, Opcode::rdma_write, sges, remote.remote()));
    std::size_t polled_late = 0;
    while (rig.fabric.step()) {
        rig.link.a.poll();
        polled_late += rig.link.a.sent.size() < 8 && rig.fabric.statistics().completions == 8 ? 1 : 0;
    }
    rig.link.a.poll();
    REQUIRE(rig.link.a.sent.size() == 8);
    for (std::uint64_t i = 0; i < 8; ++i) CHECK(rig.link.a.sent[i].wr_id == i);
    CHECK(polled_late > 0);
}

TEST_CASE("a doubled request takes effect once, and an RNR NAK without a reason costs a pause only") {
    RigOptions options;
    options.personality = quiet_adversary();
    options.personality.faults.duplicate = 0.5;
    options.personality.faults.rnr = 0.3;
    options.queue_pair.rnr_retry = 7;
    Rig rig(options);
    Buffer local(*rig.pair.a, 8);
    Buffer counter(*rig.pair.b, 8);
    Buffer into(*rig.pair.b, 8);
    const std::array sges{local.sge()};
    for (std::uint64_t i = 0; i < 40; ++i) {
        rig.link.b.post_receive(i, into.sge());
        rig.link.a.post(request(i, Opcode::send, sges));
        auto add = request(i, Opcode::atomic_fetch_add, sges, counter.remote());
        add.operand = 1;
        rig.link.a.post(add);
        rig.settle();
    }
    std::uint64_t value = 0;
    std::memcpy(&value, counter.bytes().data(), sizeof value);
    CHECK(value == 40);
    CHECK(rig.link.b.received.size() == 40);
    CHECK(rig.link.a.sent.size() == 80);
    const Statistics& nic = rig.fabric.statistics();
    CHECK(nic.duplicates > 10);
    CHECK(nic.provoked_rnr > 5);
    CHECK(nic.receiver_not_ready == 0);
}

TEST_CASE("of the requests that an error flushes exactly one never completes") {
    RigOptions options;
    options.personality = adversary();
    options.personality.faults = {};
    Rig rig(options);
    Buffer local(*rig.pair.a, 1);
    Buffer remote(*rig.pair.b, 1);
    const std::array sges{local.sge()};
    for (std::uint64_t i = 0; i < 8; ++i) rig.link.a.post(request(i, Opcode::rdma_write, sges, remote.remote(), 0));
    rig.link.a.qp->fail();
    rig.settle();
    CHECK(rig.link.a.sent.size() == 7);
    for (const auto& each : rig.link.a.sent) CHECK(each.status == CompletionStatus::flushed);
    CHECK(rig.fabric.statistics().withheld_flushes == 1);
}
