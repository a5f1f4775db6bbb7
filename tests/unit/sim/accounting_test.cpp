/// Granted depths, slots, overrun and refusals: the rules that Soft-RoCE cannot show.
#include "rig.hpp"

#include <array>

using namespace verbena;
using namespace verbena::sim;
using conformance::Buffer;
using conformance::request;
using wire::CompletionStatus;
using wire::Opcode;
using wire::QueuePairState;
using wire::Refusal;

TEST_CASE("the granted depth follows the provider's rule") {
    const auto [personality, depth, sges, inline_bytes, granted] =
        GENERATE(table<const Personality*, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>({
            // 192 bytes of overhead and one to four entries make 256 bytes a WQE; 60 bytes inline come free
            {&mlx5_like(), 16, 1, 0, 16},
            {&mlx5_like(), 16, 4, 60, 16},
            {&mlx5_like(), 100, 1, 0, 128},
            // 320 bytes a WQE: the ring is 8192 bytes
            {&mlx5_like(), 16, 5, 0, 25},
            {&mlx5_like(), 16, 1, 61, 25},
            {&rxe_like(), 64, 1, 0, 127},
            {&rxe_like(), 127, 1, 0, 127},
            {&rxe_like(), 1, 1, 0, 1},
            {&rdm_like(), 17, 1, 0, 17},
            {&rdm_like(), 0, 1, 0, 1},
        }));
    CAPTURE(personality->name, depth, sges, inline_bytes);
    wire::QueuePairOptions asked;
    asked.send_depth = depth;
    asked.send_sges = sges;
    asked.inline_bytes = inline_bytes;
    CHECK(grant(*personality, asked).send_depth == granted);
    CHECK(grant(*personality, asked).inline_bytes >= inline_bytes);
}

TEST_CASE("more than a device has is refused with limit and need") {
    wire::QueuePairOptions asked;
    asked.send_depth = 32769;
    CHECK_THROWS_WITH(grant(mlx5_like(), asked), VERBENA_CONTAINS("32769") && VERBENA_CONTAINS("32768"));
    asked.send_depth = 1;
    asked.receive_sges = 31;
    CHECK_THROWS_WITH(grant(mlx5_like(), asked), VERBENA_CONTAINS("31") && VERBENA_CONTAINS("30"));
}

TEST_CASE("a full send queue stays full though the peer has received everything") {
    RigOptions options;
    options.queue_pair.send_depth = 32;
    options.queue_pair.receive_depth = 64;
    Rig rig(options);
    REQUIRE(rig.link.a.qp->granted().send_depth >= 32);
    const std::uint32_t depth = rig.link.a.qp->granted().send_depth;
    Buffer local(*rig.pair.a, 1);
    Buffer remote(*rig.pair.b, 1);
    const std::array sges{local.sge()};
    for (std::uint32_t i = 0; i < depth; ++i) {
        rig.link.b.post_receive(i, remote.sge());
        rig.link.a.post(request(i, Opcode::send, sges, {}, 0));
    }
    rig.settle();
    CHECK(rig.link.b.received.size() == depth);
    CHECK(rig.link.a.try_post(request(99, Opcode::send, sges)).refusal == Refusal::queue_full);
    CHECK(rig.link.a.sent.empty()); // nothing was signaled: nothing ever frees a slot
}

TEST_CASE("a receive's slot is free again when its completion was polled") {
    const auto* const personality = GENERATE(&mlx5_like(), &rdm_like());
    INFO(personality->name);
    RigOptions options;
    options.personality = *personality;
    Rig rig(options);
    Buffer local(*rig.pair.a, 1);
    Buffer remote(*rig.pair.b, 1);
    const std::array sges{local.sge()};
    const std::array into{remote.sge()};
    const wire::ReceiveRequest one{1, into};
    for (std::uint32_t i = 0; i < rig.link.b.qp->granted().receive_depth; ++i) rig.link.b.post_receive(i, remote.sge());
    rig.link.a.post(request(1, Opcode::send, sges));
    rig.fabric.run_until_idle();
    CHECK(rig.link.b.qp->post_receive({&one, 1}).refusal == Refusal::queue_full);
    rig.settle();
    CHECK(rig.link.b.qp->post_receive({&one, 1}).refusal == Refusal::none);
    CHECK(rig.link.b.qp->post_receive({&one, 1}).refusal == Refusal::queue_full);
}

TEST_CASE("a completion queue that overruns loses entries, and says so apart from polling") {
    const bool hardware = GENERATE(true, false);
    INFO((hardware ? "mlx5_like" : "rxe_like"));
    RigOptions options;
    options.personality = hardware ? mlx5_like() : rxe_like();
    options.queue_pair.send_depth = 32;
    Rig rig(options);
    const auto small = rig.pair.a->create_completion_queue(10);
    REQUIRE(small->capacity() == 15);
    options.queue_pair.send_cq = options.queue_pair.receive_cq = small.get();
    const auto requester = rig.pair.a->create_queue_pair(options.queue_pair);
    options.queue_pair.send_cq = options.queue_pair.receive_cq = rig.link.b.cq.get();
    const auto responder = rig.pair.b->create_queue_pair(options.queue_pair);
    requester->connect(responder->address());
    responder->connect(requester->address());
    Buffer local(*rig.pair.a, 1);
    Buffer remote(*rig.pair.b, 1);
    const std::array sges{local.sge()};
    const wire::WorkRequest write = request(1, Opcode::rdma_write, sges, remote.remote());
    for (int i = 0; i < 17; ++i) REQUIRE(requester->post_send({&write, 1}).accepted == 1);
    rig.fabric.run_until_idle();

    std::array<wire::AsyncEvent, 8> events;
    REQUIRE(rig.pair.a->poll_async(events) == (hardware ? 1 : 2)); // one for each lost entry, or the end
    CHECK(events[0].kind == wire::AsyncEventKind::completion_queue_error);
    CHECK(events[0].number == requester->number());
    std::array<wire::Completion, 32> out;
    CHECK(small->poll(out) == 15);
    (void)requester->post_send({&write, 1});
    rig.fabric.run_until_idle();
    CHECK(small->poll(out) == (hardware ? 0 : 1));
    CHECK(requester->describe().state == (hardware ? QueuePairState::err : QueuePairState::rts));
}

TEST_CASE("a provider that refuses though there is room loses nothing") {
    RigOptions options;
    options.fabric.faults.refuse_post = 0.5;
    Rig rig(options);
    Buffer local(*rig.pair.a, 1);
    Buffer remote(*rig.pair.b, 1);
    const std::array sges{local.sge()};
    int refused = 0;
    for (std::uint64_t i = 0; i < 100;) {
        const wire::PostResult result = rig.link.a.try_post(request(i, Opcode::rdma_write, sges, remote.remote()));
        if (result.accepted == 1) {
            ++i;
        } else {
            ++refused;
            CHECK(result.refusal == Refusal::queue_full);
            CHECK(result.native_errno == ENOMEM);
        }
        rig.settle();
    }
    CHECK(refused > 20);
    REQUIRE(rig.link.a.sent.size() == 100);
    for (std::size_t i = 0; i < 100; ++i) CHECK(rig.link.a.sent[i].wr_id == i);
}

TEST_CASE("a receive posted in ERR is flushed, ignored or refused, as the provider does") {
    const auto [personality, accepted, flushed] = GENERATE(table<const Personality*, std::uint32_t, std::size_t>({
        {&mlx5_like(), 1, 1},
        {&rxe_like(), 1, 0},
        {&rdm_like(), 0, 0},
    }));
    INFO(personality->name);
    RigOptions options;
    options.personality = *personality;
    Rig rig(options);
    Buffer local(*rig.pair.a, 1);
    const std::array into{local.sge()};
    rig.link.a.qp->fail();
    const wire::ReceiveRequest receive{1, into};
    const wire::PostResult result = rig.link.a.qp->post_receive({&receive, 1});
    CHECK(result.accepted == accepted);
    CHECK(result.refusal == (accepted == 1 ? Refusal::none : Refusal::queue_broken));
    rig.settle();
    CHECK(rig.link.a.received.size() == flushed);
}

TEST_CASE("faults have the codes of their provider") {
    const auto [personality, at_sender, at_receiver] =
        GENERATE(table<const Personality*, CompletionStatus, CompletionStatus>({
            {&mlx5_like(), CompletionStatus::remote_invalid_request, CompletionStatus::local_length_error},
            {&rxe_like(), CompletionStatus::remote_operation_error, CompletionStatus::local_qp_operation_error},
            {&rdm_like(), CompletionStatus::success, CompletionStatus::local_length_error},
        }));
    INFO(personality->name);
    RigOptions options;
    options.personality = *personality;
    Rig rig(options);
    Buffer local(*rig.pair.a, 2);
    Buffer remote(*rig.pair.b, 2);
    rig.link.b.post_receive(1, remote.sge(0, 1));
    const std::array sges{local.sge()};
    rig.link.a.post(request(1, Opcode::send, sges));
    rig.settle();
    REQUIRE(rig.link.a.sent.size() == 1);
    REQUIRE(rig.link.b.received.size() == 1);
    CHECK(rig.link.a.sent[0].status == at_sender);
    CHECK(rig.link.b.received[0].status == at_receiver);
}
