/// What is particular to this backend, on real devices: negotiation, batches, events, no leaks. What every backend must
/// do is in tests/conformance.
#include "link.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include <poll.h>

#include "verbs/address.hpp"

using namespace verbena;
using namespace verbena::conformance;
using wire::Opcode;
using wire::Refusal;

namespace {

std::ptrdiff_t open_files() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

struct Bare {
    std::unique_ptr<wire::CompletionQueue> cq;
    std::unique_ptr<wire::QueuePair> qp;

    Bare(wire::Device& device, std::uint8_t max_read_atomic) : cq(device.create_completion_queue(64)) {
        wire::QueuePairOptions options = Link::small_queues();
        options.send_cq = options.receive_cq = cq.get();
        options.max_read_atomic = max_read_atomic;
        qp = device.create_queue_pair(options);
    }
};

} // namespace

TEST_CASE("P18: both ends use the smaller of the two active MTUs, bounded by the option") {
    CONFORMANCE_PAIR(pair);
    wire::QueuePairOptions options = Link::small_queues();
    options.max_mtu_bytes = GENERATE(4096u, 512u);
    Link link(pair, options);
    const wire::QueuePairInfo a = link.a.qp->describe();
    const wire::QueuePairInfo b = link.b.qp->describe();
    CHECK(a.path_mtu_bytes == std::min({a.local_mtu_bytes, b.local_mtu_bytes, options.max_mtu_bytes}));
    CHECK(b.path_mtu_bytes == a.path_mtu_bytes);
    CHECK(a.remote_mtu_bytes == b.local_mtu_bytes);
    WARN("active MTU " << a.local_mtu_bytes << " and " << b.local_mtu_bytes << ", path MTU " << a.path_mtu_bytes);

    constexpr std::size_t size = 1u << 20;
    Buffer source(*pair.a, size);
    Buffer target(*pair.b, size);
    for (Side* sender : {&link.a, &link.b}) {
        Side& receiver = sender == &link.a ? link.b : link.a;
        Buffer& from = sender == &link.a ? source : target;
        Buffer& to = sender == &link.a ? target : source;
        from.fill(sender == &link.a ? 1 : 2);
        receiver.post_receive(1, to.sge());
        const std::array sges{from.sge()};
        sender->post(request(1, Opcode::send, sges));
        REQUIRE(link.wait_received(receiver, 1));
        CHECK(receiver.received[0].status == wire::CompletionStatus::success);
        CHECK(to.holds(sender == &link.a ? 1 : 2));
    }
}

TEST_CASE("P19: the read depth is the smaller of the initiator's and the responder's") {
    CONFORMANCE_PAIR(pair);
    Bare a(*pair.a, 4);
    Bare b(*pair.b, 16);
    CHECK(a.qp->granted().max_read_atomic == 0);
    a.qp->connect(b.qp->address());
    b.qp->connect(a.qp->address());
    CHECK(a.qp->granted().max_read_atomic == 4);
    CHECK(b.qp->granted().max_read_atomic == 4);
}

TEST_CASE("P26: of the inline bytes wished for, what the provider gives is granted") {
    CONFORMANCE_PAIR(pair);
    const auto cq = pair.a->create_completion_queue(64);
    wire::QueuePairOptions options = Link::small_queues();
    options.send_cq = options.receive_cq = cq.get();
    options.inline_bytes = 100000; // more than any provider has
    const auto qp = pair.a->create_queue_pair(options);
    const std::uint32_t found = qp->granted().inline_bytes;
    WARN("inline granted: " << found);
    CHECK(found < 100000);
    options.inline_bytes = 2 * found + 1; // the search stopped no further down than it had to
    CHECK(pair.a->create_queue_pair(options)->granted().inline_bytes < options.inline_bytes);
    options.inline_bytes = 0;
    CHECK_NOTHROW(pair.a->create_queue_pair(options));
}

TEST_CASE("P16: a peer that cannot be reached is refused with both ends, the step and a ping to try") {
    CONFORMANCE_PAIR(pair);
    Bare a(*pair.a, 4);
    Bare b(*pair.b, 4);
    verbs::QueuePairAddress nowhere = verbs::decode(b.qp->address());
    if (verbs::reach_of(verbs::gid_text(nowhere.gid)) != verbs::Reach::ipv4) VERBENA_SKIP("the GIDs are not of IPv4");
    nowhere.gid[14] = std::byte{0xfe};
    nowhere.gid[15] = std::byte{0xfd}; // of the same subnet where that is a /16, and nobody's
    try {
        a.qp->connect(encode(nowhere));
        FAIL("connected to " << describe(nowhere));
    } catch (const Error& error) {
        WARN(error.what() << "\n" << error.advice());
        CHECK_THAT(error.what(), VERBENA_CONTAINS(pair.a->describe()));
        CHECK_THAT(error.what(), VERBENA_CONTAINS(describe(nowhere)));
        CHECK_THAT(error.what(), VERBENA_CONTAINS("INIT to RTR"));
        CHECK_THAT(error.what(), VERBENA_CONTAINS("path MTU"));
        CHECK_THAT(error.advice(), VERBENA_CONTAINS("ping"));
        CHECK(error.cause().origin == Origin::system_errno);
    }
    // The queue pair is as before: the right address still connects it.
    CHECK_NOTHROW(a.qp->connect(b.qp->address()));
    CHECK_THROWS_AS(a.qp->connect(b.qp->address()), Error); // but only once
}

TEST_CASE("a batch longer than the prepared chain is posted whole and in order, up to the first bad request") {
    CONFORMANCE_PAIR(pair);
    wire::QueuePairOptions options = Link::small_queues();
    options.send_depth = options.receive_depth = 100;
    Link link(pair, options);
    constexpr std::size_t count = 50;
    constexpr std::size_t bad = 37;
    Buffer source(*pair.a, count);
    Buffer target(*pair.b, count);
    source.fill(3);
    std::array<wire::Sge, count> from;
    std::array<wire::Sge, count> to;
    std::vector<wire::WorkRequest> sends;
    std::vector<wire::ReceiveRequest> receives;
    for (std::size_t i = 0; i < count; ++i) {
        from[i] = source.sge(i, 1);
        to[i] = target.sge(i, 1);
        sends.push_back(request(i, Opcode::send, {&from[i], 1}));
        receives.push_back({i, {&to[i], 1}});
    }
    CHECK(link.b.qp->post_receive(receives).accepted == count);
    const std::vector<wire::Sge> too_many(link.a.qp->granted().send_sges + 1u, from[0]);
    sends[bad].sges = too_many;
    const wire::PostResult first = link.a.qp->post_send(sends);
    CHECK(first.accepted == bad);
    CHECK(first.refusal == Refusal::too_many_sges);
    sends[bad].sges = {&from[bad], 1};
    const wire::PostResult rest = link.a.qp->post_send(std::span(sends).subspan(bad));
    CHECK(rest.accepted == count - bad);
    CHECK(rest.refusal == Refusal::none);
    REQUIRE(link.wait_received(link.b, count));
    REQUIRE(link.wait_sent(link.a, count));
    for (std::size_t i = 0; i < count; ++i) {
        CHECK(link.a.sent[i].wr_id == i);
        CHECK(link.b.received[i].wr_id == i);
    }
    CHECK(target.holds(3));
}

TEST_CASE("P67: an armed completion queue wakes its descriptor, and what came before arming is found by polling") {
    CONFORMANCE_PAIR(pair);
    Link link(pair);
    Buffer source(*pair.a, 8);
    Buffer target(*pair.b, 8);
    const std::array sges{source.sge()};
    for (std::uint64_t round = 0; round < 200; ++round) {
        link.b.post_receive(round, target.sge());
        link.b.cq->arm();
        link.a.post(request(round, Opcode::send, sges));
        pollfd descriptor{link.b.cq->event_fd(), POLLIN, 0};
        while (link.b.received.size() <= round) {
            link.b.cq->arm();
            link.b.poll();
            if (link.b.received.size() > round) break;
            REQUIRE(::poll(&descriptor, 1, 10000) == 1);
        }
        link.a.poll();
    }
    CHECK(link.b.received.size() == 200);
}

TEST_CASE("a queue pair that is gone leaves nothing in its completion queue, others keep theirs") {
    CONFORMANCE_PAIR(pair);
    const auto cq = pair.a->create_completion_queue(64);
    wire::QueuePairOptions options = Link::small_queues();
    options.send_cq = options.receive_cq = cq.get();
    auto doomed = pair.a->create_queue_pair(options);
    auto other = pair.a->create_queue_pair(options);
    Buffer buffer(*pair.a, 8);
    const std::array sges{buffer.sge()};
    for (std::uint64_t i = 0; i < 3; ++i) {
        const wire::ReceiveRequest receive{i, sges};
        for (wire::QueuePair* each : {doomed.get(), other.get()})
            REQUIRE(each->post_receive({&receive, 1}).accepted == 1);
    }
    doomed->fail();
    other->fail();
    doomed.reset();
    std::array<wire::Completion, 2> batch; // smaller than what is kept
    std::vector<wire::Completion> seen;
    for (int idle = 0; idle < 1000 && seen.size() < 3;) {
        const std::size_t count = cq->poll(batch);
        seen.insert(seen.end(), batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(count));
        idle = count == 0 ? idle + 1 : 0;
    }
    REQUIRE(seen.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(seen[i].queue_pair == other->number());
        CHECK(seen[i].wr_id == i);
    }
    CHECK(cq->poll(batch) == 0);
}

TEST_CASE("P24: a thousand connections made and dropped leave no descriptor behind") {
    CONFORMANCE_PAIR(pair);
    const auto cycle = [&pair] {
        Link link(pair);
        Buffer source(*pair.a, 8);
        Buffer target(*pair.b, 8);
        source.fill(1);
        const std::array sges{source.sge()};
        link.a.post(request(1, Opcode::rdma_write, sges, target.remote()));
        REQUIRE(link.wait_sent(link.a, 1));
        REQUIRE(target.holds(1));
    };
    cycle();
    const std::ptrdiff_t before = open_files();
    for (int round = 0; round < 1000; ++round) cycle();
    CHECK(open_files() == before);
}

TEST_CASE("devices opened and closed leave no descriptor behind") {
    { CONFORMANCE_PAIR(pair); }
    const std::ptrdiff_t before = open_files();
    for (int round = 0; round < 50; ++round) {
        CONFORMANCE_PAIR(pair);
        Buffer buffer(*pair.a, 4096);
    }
    CHECK(open_files() == before);
}
