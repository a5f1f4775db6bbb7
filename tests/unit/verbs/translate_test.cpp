#include "catch.hpp"

#include <cerrno>

#include <arpa/inet.h>

#include <verbena/memory.hpp>

#include "verbs/translate.hpp"

using namespace verbena;
using namespace verbena::verbs;
using wire::CompletionStatus;
using wire::Refusal;

TEST_CASE("a failed completion tells its queue by wr_id, whatever the opcode holds") {
    auto [wr_id, is_receive] = GENERATE(table<std::uint64_t, bool>({{5, false}, {5 | receive_mark, true}}));
    ibv_wc wc{};
    wc.wr_id = wr_id;
    wc.status = IBV_WC_WR_FLUSH_ERR;
    wc.opcode = is_receive ? IBV_WC_SEND : IBV_WC_RECV; // undefined on error: as wrong as can be
    wc.byte_len = 0xdeadbeef;
    wc.wc_flags = IBV_WC_WITH_IMM;
    wc.vendor_err = 0xf9;
    wc.qp_num = 17;
    const wire::Completion completion = completion_of(wc);
    CHECK(completion.wr_id == 5);
    CHECK(completion.is_receive == is_receive);
    CHECK(completion.status == CompletionStatus::flushed);
    CHECK(completion.queue_pair == 17);
    CHECK(completion.byte_count == 0);
    CHECK_FALSE(completion.has_immediate);
    CHECK(completion.cause == Cause{Origin::work_completion, IBV_WC_WR_FLUSH_ERR, 0xf9});
}

TEST_CASE("a received immediate comes in host order with the length of the message") {
    ibv_wc wc{};
    wc.wr_id = 9 | receive_mark;
    wc.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
    wc.wc_flags = IBV_WC_WITH_IMM;
    wc.imm_data = htonl(0x01020304);
    wc.byte_len = 100;
    const wire::Completion completion = completion_of(wc);
    CHECK(completion.kind == wire::CompletionKind::receive_rdma_with_imm);
    CHECK(completion.has_immediate);
    CHECK(completion.immediate == 0x01020304);
    CHECK(completion.byte_count == 100);
    CHECK(completion.cause == Cause{});
}

TEST_CASE("every work completion status has the nearest of ours") {
    auto [native, expected] = GENERATE(table<ibv_wc_status, CompletionStatus>({
        {IBV_WC_SUCCESS, CompletionStatus::success},
        {IBV_WC_LOC_LEN_ERR, CompletionStatus::local_length_error},
        {IBV_WC_LOC_QP_OP_ERR, CompletionStatus::local_qp_operation_error},
        {IBV_WC_LOC_PROT_ERR, CompletionStatus::local_protection_error},
        {IBV_WC_WR_FLUSH_ERR, CompletionStatus::flushed},
        {IBV_WC_BAD_RESP_ERR, CompletionStatus::bad_response},
        {IBV_WC_LOC_ACCESS_ERR, CompletionStatus::local_access_error},
        {IBV_WC_REM_INV_REQ_ERR, CompletionStatus::remote_invalid_request},
        {IBV_WC_REM_ACCESS_ERR, CompletionStatus::remote_access_error},
        {IBV_WC_REM_OP_ERR, CompletionStatus::remote_operation_error},
        {IBV_WC_RETRY_EXC_ERR, CompletionStatus::retry_exceeded},
        {IBV_WC_RNR_RETRY_EXC_ERR, CompletionStatus::rnr_retry_exceeded},
        {IBV_WC_FATAL_ERR, CompletionStatus::fatal},
        {IBV_WC_GENERAL_ERR, CompletionStatus::general_error},
        {IBV_WC_TM_ERR, CompletionStatus::general_error},
    }));
    CHECK(status_of(native) == expected);
}

TEST_CASE("P03: a full queue is the same whatever sign and code the provider uses") {
    auto [result, system_errno, expected] = GENERATE(table<int, int, int>({
        {ENOMEM, 0, ENOMEM},
        {-ENOMEM, 0, ENOMEM},
        {-1, ENOMEM, ENOMEM},
        {ENOSPC, 0, ENOSPC},
        {-EAGAIN, 0, EAGAIN},
    }));
    CHECK(post_errno(result, system_errno) == expected);
    CHECK(refusal_of(post_errno(result, system_errno)) == Refusal::queue_full);
}

TEST_CASE("a fault of the request or the queue is never taken for a full queue") {
    CHECK(refusal_of(0) == Refusal::none);
    CHECK(refusal_of(EINVAL) == Refusal::invalid);
    CHECK(refusal_of(EIO) == Refusal::queue_broken);
    CHECK(refusal_of(ENODEV) == Refusal::queue_broken);
    CHECK(post_errno(-1, 0) == EPERM);
}

TEST_CASE("what a peer may write is locally writable as well") {
    CHECK(access_flags_of(Access::none) == 0);
    CHECK(access_flags_of(Access::remote_read) == IBV_ACCESS_REMOTE_READ);
    CHECK(access_flags_of(Access::remote_write) == (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE));
    CHECK(access_flags_of(Access::remote_atomic) == (IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_LOCAL_WRITE));
}

TEST_CASE("flags translate one by one") {
    CHECK(send_flags_of(0) == 0);
    CHECK(send_flags_of(wire::signaled) == IBV_SEND_SIGNALED);
    CHECK(send_flags_of(wire::fence) == IBV_SEND_FENCE);
    CHECK(send_flags_of(wire::inlined) == IBV_SEND_INLINE);
    CHECK(send_flags_of(wire::solicited) == IBV_SEND_SOLICITED);
}

TEST_CASE("events of interest carry the port or queue pair they are about") {
    ibv_async_event event{};
    event.event_type = IBV_EVENT_PORT_ERR;
    event.element.port_num = 2;
    auto translated = event_of(event);
    REQUIRE(translated);
    CHECK(translated->kind == wire::AsyncEventKind::port_error);
    CHECK(translated->number == 2);

    ibv_qp queue_pair{};
    queue_pair.qp_num = 0x11;
    event.event_type = IBV_EVENT_QP_ACCESS_ERR;
    event.element.qp = &queue_pair;
    translated = event_of(event);
    REQUIRE(translated);
    CHECK(translated->kind == wire::AsyncEventKind::queue_pair_fatal);
    CHECK(translated->number == 0x11);

    event.event_type = IBV_EVENT_GID_CHANGE;
    CHECK_FALSE(event_of(event));
}
