/// Addresses come from the other end: whatever they hold, connecting answers with a connection or an Error.
#include "link.hpp"

#include <algorithm>

using namespace verbena;
using namespace verbena::conformance;

namespace {

void meet(wire::Device& device, wire::QueuePair& queue_pair, const wire::Address& address) {
    if (device.capabilities().connected) {
        queue_pair.connect(address);
    } else {
        (void)queue_pair.resolve(address);
    }
}

} // namespace

TEST_CASE("an address that no queue pair gave is refused", "[addresses]") {
    CONFORMANCE_PAIR(pair);
    wire::QueuePairOptions options = Link::small_queues();
    const auto cq = pair.a->create_completion_queue(64);
    const auto peer_cq = pair.b->create_completion_queue(64);
    options.send_cq = options.receive_cq = cq.get();
    const auto queue_pair = pair.a->create_queue_pair(options);
    options.send_cq = options.receive_cq = peer_cq.get();
    const auto peer = pair.b->create_queue_pair(options);
    const wire::Address good = peer->address();
    REQUIRE_FALSE(good.empty());
    REQUIRE(good.size() <= wire::max_address_bytes);

    wire::Address bad = good;
    SECTION("empty") { bad.clear(); }
    SECTION("one byte") { bad.resize(1); }
    SECTION("cut short") { bad.pop_back(); }
    SECTION("too long by one") { bad.push_back(std::byte{0}); }
    SECTION("longer than any address") { bad.resize(wire::max_address_bytes + 1); }
    SECTION("zeros") { std::ranges::fill(bad, std::byte{0}); }
    SECTION("ones") { std::ranges::fill(bad, std::byte{0xff}); }
    CHECK_THROWS_AS(meet(*pair.a, *queue_pair, bad), Error);
}

TEST_CASE("queue pairs of one device have different numbers", "[addresses]") {
    CONFORMANCE_PAIR(pair);
    wire::QueuePairOptions options = Link::small_queues();
    const auto cq = pair.a->create_completion_queue(64);
    options.send_cq = options.receive_cq = cq.get();
    const auto first = pair.a->create_queue_pair(options);
    const auto second = pair.a->create_queue_pair(options);
    CHECK(first->number() != second->number());
    CHECK(first->address() != second->address());
}

TEST_CASE("a queue pair describes both of its ends", "[addresses]") {
    CONFORMANCE_PAIR(pair);
    Link link(pair);
    const wire::QueuePairInfo info = link.a.qp->describe();
    CHECK_FALSE(info.local.empty());
    if (pair.a->capabilities().connected) {
        CHECK(info.state == wire::QueuePairState::rts);
        CHECK_FALSE(info.remote.empty());
        CHECK(info.path_mtu_bytes == std::min(info.local_mtu_bytes, info.remote_mtu_bytes));
    } else {
        CHECK(info.state == wire::QueuePairState::ready);
    }
}

TEST_CASE("what was granted is at least what was asked for, except inline and read depth", "[addresses]") {
    CONFORMANCE_PAIR(pair);
    const wire::QueuePairOptions asked = Link::small_queues();
    Link link(pair, asked);
    const wire::Granted& granted = link.a.qp->granted();
    CHECK(granted.send_depth >= asked.send_depth);
    CHECK(granted.receive_depth >= asked.receive_depth);
    CHECK(granted.send_sges >= 1);
    CHECK(granted.receive_sges >= 1);
    if (pair.a->capabilities().connected && pair.a->capabilities().rdma_read) CHECK(granted.max_read_atomic >= 1);
}
