/// Who holds a send-queue slot, and until when. Everything upstairs is built on these rules.
#include "link.hpp"

#include <array>
#include <vector>

using namespace verbena;
using namespace verbena::conformance;
using wire::Opcode;
using wire::Refusal;

namespace {

/// WRITEs of one byte: they need nothing of the peer's program.
class Requests {
  public:
    explicit Requests(Link& link) : link_(link), source_(link.a.device, 1), target_(link.b.device, 1) {}

    wire::PostResult post(std::uint64_t wr_id, bool signaled) { return link_.a.try_post(make(wr_id, signaled)); }

    [[nodiscard]] wire::WorkRequest make(std::uint64_t wr_id, bool signaled) {
        auto made = request(wr_id, Opcode::rdma_write, sges_, target_.remote(), signaled ? wire::signaled : 0);
        made.peer = link_.a.peer;
        return made;
    }

    /// Posts until refused or `most` are taken; returns how many were. Time passes, nothing is polled.
    std::uint32_t post_until_refused(std::uint32_t most, bool signaled, wire::PostResult& last) {
        for (std::uint32_t taken = 0; taken < most; ++taken) {
            last = post(taken, signaled);
            if (last.accepted == 0) return taken;
            link_.step();
        }
        return most;
    }

  private:
    Link& link_;
    Buffer source_;
    Buffer target_;
    std::array<wire::Sge, 1> sges_{source_.sge()};
};

constexpr const char* no_write = "no RDMA WRITE";
constexpr const char* frees_when_executed = "a slot is free once its request executed: the queue need not ever fill";

} // namespace

TEST_CASE("posting without polling is refused as queue_full after exactly the granted depth", "[accounting]") {
    CONFORMANCE_PAIR(pair);
    CONFORMANCE_NEEDS(pair.a->capabilities().rdma_write, no_write);
    CONFORMANCE_NEEDS(pair.a->accounting().retirement != wire::Retirement::at_execution, frees_when_executed);
    Link link(pair);
    Requests requests(link);
    const std::uint32_t depth = link.a.qp->granted().send_depth;
    wire::PostResult last;
    CHECK(requests.post_until_refused(depth + 1, true, last) == depth);
    CHECK(last.refusal == Refusal::queue_full);
    CHECK(last.accepted == 0);

    // However long one waits, executed requests keep their slots until they are polled.
    for (int i = 0; i < 1000; ++i) link.step();
    CHECK(requests.post(0, true).refusal == Refusal::queue_full);

    REQUIRE(link.wait_sent(link.a, depth));
    CHECK(link.a.sent.size() == depth);
    std::vector<bool> seen(depth);
    for (const wire::Completion& completion : link.a.sent) {
        CHECK(completion.status == wire::CompletionStatus::success);
        REQUIRE(completion.wr_id < depth);
        CHECK_FALSE(seen[completion.wr_id]);
        seen[completion.wr_id] = true;
    }
    CHECK(requests.post(0, true).accepted == 1);
    REQUIRE(link.wait_sent(link.a, depth + 1));
}

TEST_CASE("a device whose slots are free after execution still takes the granted depth", "[accounting]") {
    CONFORMANCE_PAIR(pair);
    CONFORMANCE_NEEDS(pair.a->capabilities().rdma_write, no_write);
    CONFORMANCE_NEEDS(pair.a->accounting().retirement == wire::Retirement::at_execution,
                      "slots are not freed by execution");
    Link link(pair);
    Requests requests(link);
    const std::uint32_t depth = link.a.qp->granted().send_depth;
    wire::PostResult last;
    CHECK(requests.post_until_refused(depth, false, last) == depth);
    // Nothing was signaled, so only execution can make room for this one.
    REQUIRE(link.wait([&] {
        last = requests.post(99, true);
        return last.accepted == 1 || last.refusal != Refusal::queue_full;
    }));
    CHECK(last.accepted == 1);
    REQUIRE(link.wait_sent(link.a, 1));
    CHECK(link.a.sent[0].wr_id == 99);
}

TEST_CASE("unsignaled requests give no completion", "[accounting]") {
    CONFORMANCE_PAIR(pair);
    CONFORMANCE_NEEDS(pair.a->capabilities().rdma_write, no_write);
    Link link(pair);
    CONFORMANCE_NEEDS(!link.a.frees_only_itself(), "nothing may be unsignaled");
    Requests requests(link);
    for (std::uint64_t i = 0; i < 5; ++i) REQUIRE(requests.post(i, false).accepted == 1);
    REQUIRE(requests.post(5, true).accepted == 1);
    REQUIRE(link.wait_sent(link.a, 1)); // it is the last to execute, so nothing of the others can follow
    CHECK(link.a.sent.size() == 1);
    CHECK(link.a.sent[0].wr_id == 5);
}

TEST_CASE("one polled completion frees itself and everything older, and nothing younger", "[accounting]") {
    CONFORMANCE_PAIR(pair);
    CONFORMANCE_NEEDS(pair.a->capabilities().rdma_write, no_write);
    CONFORMANCE_NEEDS(pair.a->accounting().retirement == wire::Retirement::through_completion,
                      "slots are freed in another way");
    Link link(pair);
    Requests requests(link);
    const std::uint32_t depth = link.a.qp->granted().send_depth;
    const std::uint32_t signal_at = depth / 2;
    for (std::uint32_t i = 0; i < depth; ++i) REQUIRE(requests.post(i, i == signal_at).accepted == 1);
    REQUIRE(requests.post(0, true).refusal == Refusal::queue_full);
    REQUIRE(link.wait_sent(link.a, 1));
    CHECK(link.a.sent[0].wr_id == signal_at);

    for (std::uint32_t i = 0; i <= signal_at; ++i) {
        CAPTURE(i);
        REQUIRE(requests.post(depth + i, i == signal_at).accepted == 1);
    }
    CHECK(requests.post(0, true).refusal == Refusal::queue_full);
    REQUIRE(link.wait_sent(link.a, 2));
    CHECK(link.a.sent[1].wr_id == depth + signal_at);
    for (std::uint32_t i = 0; i < depth; ++i) REQUIRE(requests.post(i, i + 1 == depth).accepted == 1);
    CHECK(requests.post(0, true).refusal == Refusal::queue_full);
    REQUIRE(link.wait_sent(link.a, 3));
}

TEST_CASE("each polled completion makes room for one request where it frees itself only", "[accounting]") {
    CONFORMANCE_PAIR(pair);
    CONFORMANCE_NEEDS(pair.a->capabilities().rdma_write, no_write);
    Link link(pair);
    CONFORMANCE_NEEDS(link.a.frees_only_itself(), "slots are freed in another way");
    Requests requests(link);
    const std::uint32_t depth = link.a.qp->granted().send_depth;
    wire::PostResult last;
    REQUIRE(requests.post_until_refused(depth + 1, true, last) == depth);
    REQUIRE(link.wait_sent(link.a, depth));
    for (std::uint32_t i = 0; i < depth; ++i) REQUIRE(requests.post(i, true).accepted == 1);
    CHECK(requests.post(0, true).refusal == Refusal::queue_full);
    std::array<wire::Completion, 1> one;
    REQUIRE(link.wait([&] { return link.a.cq->poll(one) == 1; }, false));
    CHECK(requests.post(0, true).accepted == 1);
    CHECK(requests.post(0, true).refusal == Refusal::queue_full);
    REQUIRE(link.wait_sent(link.a, 2u * depth));
}

TEST_CASE("a batch larger than the room is taken from its front", "[accounting]") {
    CONFORMANCE_PAIR(pair);
    CONFORMANCE_NEEDS(pair.a->capabilities().rdma_write, no_write);
    CONFORMANCE_NEEDS(pair.a->accounting().retirement != wire::Retirement::at_execution, frees_when_executed);
    Link link(pair);
    Requests requests(link);
    const std::uint32_t depth = link.a.qp->granted().send_depth;
    std::vector<wire::WorkRequest> batch;
    for (std::uint32_t i = 0; i < depth + 5; ++i) batch.push_back(requests.make(i, true));
    const wire::PostResult result = link.a.qp->post_send(batch);
    CHECK(result.accepted == depth);
    CHECK(result.refusal == Refusal::queue_full);
    REQUIRE(link.wait_sent(link.a, depth));
    const wire::PostResult rest = link.a.qp->post_send(std::span(batch).subspan(depth));
    CHECK(rest.accepted == 5);
    CHECK(rest.refusal == Refusal::none);
    REQUIRE(link.wait_sent(link.a, depth + 5));
    CHECK(link.a.sent.back().status == wire::CompletionStatus::success);
}

TEST_CASE("an empty batch is taken as it is", "[accounting]") {
    CONFORMANCE_PAIR(pair);
    Link link(pair);
    const wire::PostResult sends = link.a.qp->post_send({});
    CHECK(sends.accepted == 0);
    CHECK(sends.refusal == Refusal::none);
    const wire::PostResult receives = link.a.qp->post_receive({});
    CHECK(receives.accepted == 0);
    CHECK(receives.refusal == Refusal::none);
}

TEST_CASE("a request with too long a list or inline payload is refused as such, the earlier ones stay",
          "[accounting]") {
    CONFORMANCE_PAIR(pair);
    CONFORMANCE_NEEDS(pair.a->capabilities().rdma_write, no_write);
    Link link(pair);
    const wire::Granted& granted = link.a.qp->granted();
    const bool long_list = GENERATE(true, false);
    CAPTURE(long_list, granted.send_sges, granted.inline_bytes);
    Requests requests(link);
    Buffer source(*pair.a, granted.inline_bytes + 1u);
    const std::vector<wire::Sge> too_many(granted.send_sges + 1u, source.sge(0, 1));
    const std::array too_long{source.sge()};

    std::array batch{requests.make(0, false), requests.make(1, true), requests.make(2, true), requests.make(3, true)};
    if (link.a.frees_only_itself()) batch[0].flags |= wire::signaled;
    batch[2].sges = long_list ? std::span<const wire::Sge>(too_many) : std::span<const wire::Sge>(too_long);
    if (!long_list) batch[2].flags |= wire::inlined;
    const wire::PostResult result = link.a.qp->post_send(batch);
    CHECK(result.accepted == 2);
    CHECK(result.refusal == (long_list ? Refusal::too_many_sges : Refusal::inline_too_long));

    // The queue pair is as good as before.
    REQUIRE(requests.post(9, true).accepted == 1);
    const std::size_t expected = link.a.frees_only_itself() ? 3 : 2;
    REQUIRE(link.wait_sent(link.a, expected));
    CHECK(link.a.sent.size() == expected);
    for (const wire::Completion& completion : link.a.sent) {
        CHECK(completion.status == wire::CompletionStatus::success);
        CHECK(completion.wr_id != 2);
        CHECK(completion.wr_id != 3);
    }
}

TEST_CASE("a receive with too long a list is refused as such", "[accounting]") {
    CONFORMANCE_PAIR(pair);
    Link link(pair);
    Buffer target(*pair.b, 64);
    const std::vector<wire::Sge> too_many(link.b.qp->granted().receive_sges + 1u, target.sge(0, 1));
    const std::array good{target.sge()};
    const std::array batch{wire::ReceiveRequest{1, good}, wire::ReceiveRequest{2, too_many}};
    const wire::PostResult result = link.b.qp->post_receive(batch);
    CHECK(result.accepted == 1);
    CHECK(result.refusal == Refusal::too_many_sges);
}

TEST_CASE("receives are taken to the granted depth and then refused as queue_full", "[accounting]") {
    CONFORMANCE_PAIR(pair);
    Link link(pair);
    Buffer target(*pair.b, 64);
    const std::array sges{target.sge()};
    const std::uint32_t depth = link.b.qp->granted().receive_depth;
    const std::vector<wire::ReceiveRequest> batch(depth, wire::ReceiveRequest{1, sges});
    CHECK(link.b.qp->post_receive(batch).accepted == depth);
    // Some rings hold more than is granted; what they refuse in the end must be "full".
    wire::PostResult result;
    for (std::uint32_t i = 0; i < 4 * depth + 64 && result.refusal == Refusal::none; ++i) {
        result = link.b.qp->post_receive(std::span(batch).first(1));
    }
    CHECK(result.refusal == Refusal::queue_full);
}
