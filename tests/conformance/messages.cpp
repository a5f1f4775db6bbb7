/// Send and receive: lengths, gather and scatter, order, immediate data, what a completion tells.
#include "link.hpp"

#include <algorithm>
#include <array>

using namespace verbena;
using namespace verbena::conformance;
using wire::Opcode;

TEST_CASE("a message of any length arrives whole and nothing beyond it is touched", "[messages]") {
    CONFORMANCE_PAIR(pair);
    Link link(pair);
    const std::size_t inline_limit = link.a.qp->granted().inline_bytes;
    const std::size_t most = std::min<std::uint64_t>(pair.a->capabilities().max_message_bytes, 1u << 20);
    Buffer source(*pair.a, most);
    Buffer target(*pair.b, most);
    std::size_t messages = 0;
    for (const std::size_t length : {std::size_t{0}, std::size_t{1}, inline_limit, inline_limit + 1, std::size_t{4095},
                                     std::size_t{4097}, std::size_t{65537}, most}) {
        if (length > most) continue;
        const bool inlined = length > 0 && length <= inline_limit;
        CAPTURE(length, inlined);
        const auto seed = static_cast<unsigned>(++messages);
        source.fill(seed);
        target.clear();
        link.b.post_receive(100 + messages, target.sge());
        const std::array sges{source.sge(0, length)};
        const std::span list = length == 0 ? std::span<const wire::Sge>{} : std::span<const wire::Sge>(sges);
        link.a.post(request(messages, Opcode::send, list, {},
                            static_cast<std::uint8_t>(wire::signaled | (inlined ? wire::inlined : 0))));
        if (inlined) source.fill(seed + 1); // an inline payload was copied while posting
        REQUIRE(link.wait_sent(link.a, messages));
        REQUIRE(link.wait_received(link.b, messages));

        const wire::Completion& sent = link.a.sent.back();
        CHECK(sent.status == wire::CompletionStatus::success);
        CHECK(sent.kind == wire::CompletionKind::send);
        CHECK(sent.wr_id == messages);
        CHECK(sent.queue_pair == link.a.qp->number());
        const wire::Completion& received = link.b.received.back();
        CHECK(received.status == wire::CompletionStatus::success);
        CHECK(received.kind == wire::CompletionKind::receive);
        CHECK(received.wr_id == 100 + messages);
        CHECK(received.byte_count == length);
        CHECK(received.queue_pair == link.b.qp->number());
        CHECK_FALSE(received.has_immediate);
        CHECK(target.holds(seed, 0, length));
        CHECK(target.is_clear(length, most - length));
        CHECK(target.guards_intact());
    }
}

TEST_CASE("a message is gathered from its list and scattered into the receive's list", "[messages]") {
    CONFORMANCE_PAIR(pair);
    Link link(pair);
    CONFORMANCE_NEEDS(link.a.qp->granted().send_sges >= 3 && link.b.qp->granted().receive_sges >= 3,
                      "fewer than three scatter/gather entries are granted");
    Buffer source(*pair.a, 300);
    Buffer target(*pair.b, 300);
    source.fill(5);
    const std::array gather{source.sge(0, 101), source.sge(101, 1), source.sge(102, 98)}; // 200 bytes, in order
    const std::array scatter{
        target.sge(200, 7),
        target.sge(10, 150),
        target.sge(170, 20),
    };
    SECTION("the list is filled to the message's end") {
        const std::array larger{target.sge(0, 7), target.sge(7, 150), target.sge(157, 143)};
        const wire::ReceiveRequest receive{1, larger};
        REQUIRE(link.b.qp->post_receive({&receive, 1}).accepted == 1);
        link.a.post(request(2, Opcode::send, gather));
        REQUIRE(link.wait_received(link.b, 1));
        REQUIRE(link.b.received[0].status == wire::CompletionStatus::success);
        CHECK(link.b.received[0].byte_count == 200);
        CHECK(target.holds(5, 0, 200));
        CHECK(target.is_clear(200, 100));
    }
    SECTION("entries may lie anywhere") {
        const wire::ReceiveRequest receive{1, scatter};
        REQUIRE(link.b.qp->post_receive({&receive, 1}).accepted == 1);
        link.a.post(request(2, Opcode::send, std::span(gather).first(2)));
        REQUIRE(link.wait_received(link.b, 1));
        REQUIRE(link.b.received[0].status == wire::CompletionStatus::success);
        CHECK(link.b.received[0].byte_count == 102);
        CHECK(std::ranges::equal(target.bytes().subspan(200, 7), source.bytes().first(7)));
        CHECK(std::ranges::equal(target.bytes().subspan(10, 95), source.bytes().subspan(7, 95)));
        CHECK(target.is_clear(105, 95));
    }
    CHECK(target.guards_intact());
}

TEST_CASE("sends of one queue pair arrive in the order in which they were posted", "[messages]") {
    CONFORMANCE_PAIR(pair);
    CONFORMANCE_NEEDS(pair.a->capabilities().ordered, "the device does not keep order");
    constexpr std::size_t count = 8;
    constexpr std::size_t size = 512;
    Link link(pair);
    Buffer source(*pair.a, count * size);
    Buffer target(*pair.b, count * size);
    source.fill(9);
    for (std::size_t i = 0; i < count; ++i) link.b.post_receive(i, target.sge(i * size, size));
    std::array<wire::Sge, count> sges;
    std::array<wire::WorkRequest, count> batch;
    for (std::size_t i = 0; i < count; ++i) {
        // Short ones follow long ones, so that a race between them would show.
        sges[i] = source.sge(i * size, i % 2 == 0 ? size : 1);
        batch[i] = request(i, Opcode::send, {&sges[i], 1});
        batch[i].peer = link.a.peer;
    }
    const wire::PostResult result = link.a.qp->post_send(batch);
    REQUIRE(result.accepted == count);
    CHECK(result.refusal == wire::Refusal::none);
    REQUIRE(link.wait_received(link.b, count));
    REQUIRE(link.wait_sent(link.a, count));
    for (std::size_t i = 0; i < count; ++i) {
        CAPTURE(i);
        CHECK(link.b.received[i].wr_id == i);
        CHECK(link.b.received[i].byte_count == sges[i].length);
        CHECK(std::ranges::equal(target.bytes().subspan(i * size, sges[i].length),
                                 source.bytes().subspan(i * size, sges[i].length)));
        if (!link.a.frees_only_itself()) CHECK(link.a.sent[i].wr_id == i);
    }
}

TEST_CASE("immediate data comes with the completion of the receive", "[messages]") {
    CONFORMANCE_PAIR(pair);
    Link link(pair);
    Buffer source(*pair.a, 32);
    Buffer target(*pair.b, 32);
    source.fill(3);
    const std::array sges{source.sge()};
    const std::size_t length = GENERATE(std::size_t{0}, std::size_t{32});
    link.b.post_receive(7, target.sge());
    auto send = request(1, Opcode::send_with_imm, std::span(sges).first(length == 0 ? 0 : 1));
    send.immediate = 0xfedcba98u;
    link.a.post(send);
    REQUIRE(link.wait_received(link.b, 1));
    REQUIRE(link.b.received[0].status == wire::CompletionStatus::success);
    CHECK(link.b.received[0].has_immediate);
    CHECK(link.b.received[0].immediate == 0xfedcba98u);
    CHECK(link.b.received[0].byte_count == length);
    CHECK(target.holds(3, 0, length));
}

TEST_CASE("both ends may send at the same time", "[messages]") {
    CONFORMANCE_PAIR(pair);
    Link link(pair);
    Buffer out_a(*pair.a, 1000), in_a(*pair.a, 1000), out_b(*pair.b, 1000), in_b(*pair.b, 1000);
    out_a.fill(1);
    out_b.fill(2);
    link.a.post_receive(1, in_a.sge());
    link.b.post_receive(2, in_b.sge());
    const std::array from_a{out_a.sge()};
    const std::array from_b{out_b.sge()};
    link.a.post(request(3, Opcode::send, from_a));
    link.b.post(request(4, Opcode::send, from_b));
    REQUIRE(link.wait_received(link.a, 1));
    REQUIRE(link.wait_received(link.b, 1));
    CHECK(in_a.holds(2));
    CHECK(in_b.holds(1));
}
