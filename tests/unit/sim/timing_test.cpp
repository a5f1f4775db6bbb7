/// Virtual time is arithmetic: these are exact.
#include "rig.hpp"

#include <array>

using namespace verbena;
using namespace verbena::sim;
using conformance::Buffer;
using conformance::request;
using wire::Opcode;

namespace {

RigOptions with(const LinkModel& link) {
    RigOptions options;
    options.personality = rxe_like(); // its responder is serial: nothing in these times is drawn
    options.fabric.link = link;
    return options;
}

} // namespace

TEST_CASE("a WRITE takes gap, bits over rate, and the latency of both ways") {
    const auto [bytes, link, expected] = GENERATE(table<std::uint32_t, LinkModel, Time>({
        {0, {1000, 100, 20}, 2020},
        {1, {1000, 100, 20}, 2021}, // a started nanosecond counts
        {4096, {1000, 100, 20}, 2000 + 20 + 328},
        {1000000, {500, 400, 0}, 1000 + 20000},
        {125, {0, 1, 7}, 1007},
    }));
    CAPTURE(bytes, link.latency_ns, link.rate_gbps, link.gap_ns);
    Rig rig(with(link));
    Buffer local(*rig.pair.a, bytes + 1);
    Buffer remote(*rig.pair.b, bytes + 1);
    const std::array sges{local.sge(0, bytes)};
    rig.link.a.post(request(1, Opcode::rdma_write, sges, remote.remote()));
    rig.settle();
    REQUIRE(rig.link.a.sent.size() == 1);
    CHECK(rig.fabric.now() == expected);
}

TEST_CASE("a READ's bytes take the responder's link") {
    const LinkModel link{1000, 100, 20};
    Rig rig(with(link));
    Buffer local(*rig.pair.a, 4096);
    Buffer remote(*rig.pair.b, 4096);
    const std::array sges{local.sge()};
    rig.link.a.post(request(1, Opcode::rdma_read, sges, remote.remote()));
    rig.settle();
    CHECK(rig.fabric.now() == (20 + 1000) + (20 + 328 + 1000));
}

TEST_CASE("messages follow each other as fast as the link takes them") {
    const LinkModel link{1000, 100, 20};
    Rig rig(with(link));
    Buffer local(*rig.pair.a, 1000);
    Buffer remote(*rig.pair.b, 1000);
    const std::array sges{local.sge()};
    for (std::uint64_t i = 0; i < 10; ++i) rig.link.a.post(request(i, Opcode::rdma_write, sges, remote.remote()));
    rig.settle();
    REQUIRE(rig.link.a.sent.size() == 10);
    CHECK(rig.fabric.now() == 10 * (20 + 80) + 2000);
}

TEST_CASE("two queue pairs of one device share its link") {
    const LinkModel link{1000, 100, 20};
    Rig rig(with(link));
    conformance::Link second(rig.pair);
    Buffer local(*rig.pair.a, 1000);
    Buffer remote(*rig.pair.b, 1000);
    const std::array sges{local.sge()};
    for (std::uint64_t i = 0; i < 5; ++i) {
        rig.link.a.post(request(i, Opcode::rdma_write, sges, remote.remote()));
        second.a.post(request(i, Opcode::rdma_write, sges, remote.remote()));
    }
    rig.settle();
    second.a.poll();
    REQUIRE(rig.link.a.sent.size() == 5);
    REQUIRE(second.a.sent.size() == 5);
    CHECK(rig.fabric.now() == 10 * (20 + 80) + 2000);
}

TEST_CASE("no more READs are on their way than the queue pair was granted") {
    const LinkModel link{1000, 100, 0};
    RigOptions options = with(link);
    options.queue_pair.max_read_atomic = 2;
    Rig rig(options);
    CHECK(rig.link.a.qp->granted().max_read_atomic == 2);
    Buffer local(*rig.pair.a, 8);
    Buffer remote(*rig.pair.b, 8);
    for (std::uint64_t i = 0; i < 6; ++i) {
        const std::array none{local.sge(0, 0)};
        rig.link.a.post(request(i, Opcode::rdma_read, none, remote.remote()));
    }
    rig.settle();
    REQUIRE(rig.link.a.sent.size() == 6);
    CHECK(rig.fabric.now() == 3 * 2000); // two at a time
}

TEST_CASE("jitter delays a message by no more than it may, and nothing overtakes") {
    const std::uint64_t seed = GENERATE(range(1, 20));
    RigOptions options = with({1000, 100, 20});
    options.seed = seed;
    options.fabric.faults.jitter_ns = 5000;
    Rig rig(options);
    CAPTURE(seed);
    Buffer local(*rig.pair.a, 16);
    Buffer remote(*rig.pair.b, 16);
    for (std::uint64_t i = 0; i < 16; ++i) rig.link.b.post_receive(i, remote.sge(i, 1));
    const std::array sges{local.sge(0, 1)};
    for (std::uint64_t i = 0; i < 16; ++i) rig.link.a.post(request(i, Opcode::send, sges));
    rig.settle();
    REQUIRE(rig.link.b.received.size() == 16);
    for (std::uint64_t i = 0; i < 16; ++i) {
        CHECK(rig.link.b.received[i].wr_id == i);
        CHECK(rig.link.a.sent[i].wr_id == i);
    }
    CHECK(rig.fabric.now() >= 16 * 21 + 2000);
    CHECK(rig.fabric.now() <= 16 * 21 + 2000 + 2 * 5000);
}

TEST_CASE("P19: of 32 READs never more are outstanding than the smaller of the two ends' limits") {
    const auto [ours, theirs] = GENERATE(table<std::uint8_t, std::uint8_t>({{16, 8}, {8, 16}, {4, 1}, {1, 4}}));
    CAPTURE(int{ours}, int{theirs});
    Fabric fabric(1);
    const auto a = fabric.device({});
    const auto b = fabric.device({});
    const auto queue_a = a->create_completion_queue(64);
    const auto queue_b = b->create_completion_queue(64);
    wire::QueuePairOptions options;
    options.send_depth = 64;
    options.send_cq = options.receive_cq = queue_a.get();
    options.max_read_atomic = ours;
    const auto reader = a->create_queue_pair(options);
    options.send_cq = options.receive_cq = queue_b.get();
    options.max_read_atomic = theirs;
    const auto target = b->create_queue_pair(options);
    reader->connect(target->address());
    target->connect(reader->address());
    CHECK(reader->granted().max_read_atomic == std::min(ours, theirs));
    conformance::Buffer local(*a, 8);
    conformance::Buffer remote(*b, 8);
    const std::array sges{local.sge()};
    for (std::uint64_t i = 0; i < 32; ++i) {
        const auto read = conformance::request(i, wire::Opcode::rdma_read, sges, remote.remote());
        REQUIRE(reader->post_send({&read, 1}).accepted == 1);
    }
    fabric.run_until_idle();
    CHECK(fabric.statistics().most_fetches_outstanding == std::min(ours, theirs));
    std::array<wire::Completion, 64> out;
    const std::size_t count = queue_a->poll(out);
    CHECK(count == 32);
    for (const auto& each : std::span(out).first(count)) CHECK(each.status == wire::CompletionStatus::success);
}
