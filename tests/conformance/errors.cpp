/// What happens when a request is wrong or the queue pair is at its end: an error is reported, memory stays untouched.
#include "link.hpp"

#include <algorithm>
#include <array>

using namespace verbena;
using namespace verbena::conformance;
using wire::CompletionStatus;
using wire::Opcode;
using wire::Refusal;

namespace {

/// After a failure a connected queue pair is in ERR: it takes nothing more, or flushes what it takes.
void check_broken(Link& link, Side& side, const wire::Sge& sge, wire::RemoteAddress remote) {
    if (!side.device.capabilities().connected) return;
    CHECK(side.qp->describe().state == wire::QueuePairState::err);
    const std::size_t before = side.sent.size();
    const wire::PostResult later = side.try_post(request(77, Opcode::rdma_write, {&sge, 1}, remote));
    if (later.accepted == 0) {
        CHECK(later.refusal == Refusal::queue_broken);
        return;
    }
    REQUIRE(link.wait_sent(side, before + 1));
    CHECK(side.sent.back().wr_id == 77);
    CHECK(side.sent.back().status == CompletionStatus::flushed);
}

} // namespace

TEST_CASE("remote memory that was not granted is neither read nor written", "[errors]") {
    CONFORMANCE_PAIR(pair);
    const wire::Capabilities& can = pair.a->capabilities();
    CONFORMANCE_NEEDS(can.rdma_read && can.rdma_write, "no RDMA READ and WRITE");
    CONFORMANCE_NEEDS(can.checks_remote_access, "the device does not look at remote keys");
    constexpr std::size_t size = 256;
    Link link(pair);
    Buffer local(*pair.a, size + 1);
    Buffer target(*pair.b, size);
    Buffer only_writable(*pair.b, size, Access::local_write | Access::remote_write);
    Buffer only_readable(*pair.b, size, Access::remote_read | Access::local_write);
    local.fill(1);
    auto wrong = request(1, Opcode::rdma_write, {}, target.remote());
    auto sge = local.sge(0, size);
    SECTION("a wrong rkey") { wrong.remote.rkey.value ^= 0x5a5a00u; }
    SECTION("one byte past the end") { sge.length = size + 1; }
    SECTION("one byte ahead of the start") { wrong.remote.address -= 1; }
    SECTION("a range that wraps around the address space") { wrong.remote.address = ~std::uint64_t{0} - 8; }
    SECTION("a READ past the end") {
        wrong.opcode = Opcode::rdma_read;
        wrong.remote = target.remote(1);
    }
    SECTION("a READ where only writing is allowed") {
        wrong.opcode = Opcode::rdma_read;
        wrong.remote = only_writable.remote();
    }
    SECTION("a WRITE where only reading is allowed") { wrong.remote = only_readable.remote(); }
    SECTION("a region that is gone") { target.deregister(); }
    wrong.sges = {&sge, 1};
    link.a.post(wrong);
    REQUIRE(link.wait_sent(link.a, 1));
    CHECK(link.a.sent[0].wr_id == 1);
    if (can.connected) {
        CHECK(link.a.sent[0].status == CompletionStatus::remote_access_error);
    } else {
        CHECK(link.a.sent[0].status != CompletionStatus::success); // the providers' codes differ
    }
    CHECK(link.a.sent[0].cause.origin != Origin::none);
    for (Buffer* buffer : {&target, &only_readable, &only_writable}) {
        CHECK(buffer->is_clear(0, size));
        CHECK(buffer->guards_intact());
    }
    if (wrong.opcode == Opcode::rdma_read) CHECK(local.holds(1));
    check_broken(link, link.a, sge, only_writable.remote());
    CHECK(only_writable.is_clear(0, size));
}

TEST_CASE("requests behind a failed one are flushed, unsignaled ones too", "[errors]") {
    CONFORMANCE_PAIR(pair);
    const wire::Capabilities& can = pair.a->capabilities();
    CONFORMANCE_NEEDS(can.connected && can.rdma_write, "no connected queue pair with RDMA WRITE");
    CONFORMANCE_NEEDS(pair.a->accounting().error_completes_unsignaled, "flushes do not complete unsignaled requests");
    Link link(pair);
    Buffer local(*pair.a, 8);
    Buffer target(*pair.b, 8);
    const std::array sges{local.sge()};
    local.fill(1);
    std::array<wire::WorkRequest, 4> batch;
    for (std::uint64_t i = 0; i < batch.size(); ++i) {
        batch[i] = request(i, Opcode::rdma_write, sges, target.remote(), i == 3 ? wire::signaled : 0);
    }
    batch[1].remote.address += 4;
    REQUIRE(link.a.qp->post_send(batch).accepted == batch.size());
    REQUIRE(link.wait_sent(link.a, 3)); // the first succeeded and is silent
    REQUIRE(link.a.sent.size() == 3);
    CHECK(link.a.sent[0].wr_id == 1);
    CHECK(link.a.sent[0].status == CompletionStatus::remote_access_error);
    for (std::size_t i = 1; i < 3; ++i) {
        CHECK(link.a.sent[i].wr_id == i + 1);
        CHECK(link.a.sent[i].status == CompletionStatus::flushed);
        CHECK_FALSE(link.a.sent[i].is_receive);
        CHECK(link.a.sent[i].queue_pair == link.a.qp->number());
    }
    CHECK(target.holds(1));
}

TEST_CASE("a message longer than the receive is an error and stays inside the buffer", "[errors]") {
    CONFORMANCE_PAIR(pair);
    Link link(pair);
    Buffer source(*pair.a, 400);
    Buffer target(*pair.b, 300);
    source.fill(6);
    link.b.post_receive(5, target.sge(100, 100));
    const std::array sges{source.sge()};
    link.a.post(request(1, Opcode::send, sges));
    const auto failed = [](const std::vector<wire::Completion>& seen) {
        return std::ranges::any_of(seen, [](const auto& each) { return each.status != CompletionStatus::success; });
    };
    REQUIRE(link.wait([&] { return failed(link.a.sent) || failed(link.b.received); }));
    for (const wire::Completion& received : link.b.received) {
        CHECK(received.wr_id == 5);
        CHECK(received.status != CompletionStatus::success);
    }
    CHECK(target.is_clear(0, 100));
    CHECK(target.is_clear(200, 100));
    CHECK(target.guards_intact());
}

TEST_CASE("a local key that names no region is never used", "[errors]") {
    CONFORMANCE_PAIR(pair);
    CONFORMANCE_NEEDS(pair.a->capabilities().needs_local_key, "the device needs no local keys");
    Link link(pair);
    Buffer source(*pair.a, 64);
    Buffer target(*pair.b, 64);
    source.fill(1);
    link.b.post_receive(5, target.sge());
    auto sge = source.sge();
    sge.lkey.value ^= 0x5a5a00u;
    const wire::PostResult result = link.a.try_post(request(1, Opcode::send, {&sge, 1}));
    if (result.accepted == 0) {
        CHECK(result.refusal == Refusal::invalid);
    } else {
        REQUIRE(link.wait_sent(link.a, 1));
        CHECK(link.a.sent[0].status != CompletionStatus::success);
    }
    CHECK(target.is_clear(0, 64));
}

TEST_CASE("fail() flushes outstanding receives and ends the queue pair", "[errors]") {
    CONFORMANCE_PAIR(pair);
    CONFORMANCE_NEEDS(pair.a->capabilities().rdma_write, "no RDMA WRITE");
    Link link(pair);
    Buffer local(*pair.a, 64);
    Buffer target(*pair.b, 64);
    for (std::uint64_t i = 0; i < 3; ++i) link.a.post_receive(i, local.sge());
    link.a.qp->fail();
    link.a.qp->fail(); // once more changes nothing
    if (pair.a->accounting().error_completes_unsignaled) {
        REQUIRE(link.wait_received(link.a, 3));
        CHECK(link.a.received.size() == 3);
    }
    for (std::size_t i = 0; i < link.a.received.size(); ++i) {
        CHECK(link.a.received[i].wr_id == i);
        CHECK(link.a.received[i].status == CompletionStatus::flushed);
        CHECK(link.a.received[i].is_receive);
        CHECK(link.a.received[i].queue_pair == link.a.qp->number());
    }
    const auto sge = local.sge();
    const wire::PostResult later = link.a.try_post(request(9, Opcode::rdma_write, {&sge, 1}, target.remote()));
    if (later.accepted == 0) {
        CHECK(later.refusal == Refusal::queue_broken);
    } else {
        REQUIRE(link.wait_sent(link.a, 1));
        CHECK(link.a.sent[0].status == CompletionStatus::flushed);
    }
    // A receive may be taken (and may then never complete) or refused; it may not succeed.
    const wire::ReceiveRequest receive{10, {&sge, 1}};
    const wire::PostResult received = link.a.qp->post_receive({&receive, 1});
    if (received.accepted == 0) CHECK(received.refusal == Refusal::queue_broken);
}
