#include "verbs/translate.hpp"

#include <array>

#include <arpa/inet.h>

#include <verbena/memory.hpp>

namespace verbena::verbs {
namespace {

wire::CompletionKind kind_of(ibv_wc_opcode opcode) noexcept {
    switch (opcode) {
    case IBV_WC_RDMA_WRITE:
        return wire::CompletionKind::rdma_write;
    case IBV_WC_RDMA_READ:
        return wire::CompletionKind::rdma_read;
    case IBV_WC_COMP_SWAP:
    case IBV_WC_FETCH_ADD:
        return wire::CompletionKind::atomic;
    case IBV_WC_RECV:
        return wire::CompletionKind::receive;
    case IBV_WC_RECV_RDMA_WITH_IMM:
        return wire::CompletionKind::receive_rdma_with_imm;
    default:
        return wire::CompletionKind::send;
    }
}

} // namespace

wire::CompletionStatus status_of(ibv_wc_status status) noexcept {
    using wire::CompletionStatus;
    switch (status) {
    case IBV_WC_SUCCESS:
        return CompletionStatus::success;
    case IBV_WC_LOC_LEN_ERR:
        return CompletionStatus::local_length_error;
    case IBV_WC_LOC_QP_OP_ERR:
    case IBV_WC_LOC_EEC_OP_ERR:
        return CompletionStatus::local_qp_operation_error;
    case IBV_WC_LOC_PROT_ERR:
        return CompletionStatus::local_protection_error;
    case IBV_WC_WR_FLUSH_ERR:
        return CompletionStatus::flushed;
    case IBV_WC_BAD_RESP_ERR:
        return CompletionStatus::bad_response;
    case IBV_WC_MW_BIND_ERR:
    case IBV_WC_LOC_ACCESS_ERR:
        return CompletionStatus::local_access_error;
    case IBV_WC_REM_INV_REQ_ERR:
    case IBV_WC_REM_INV_RD_REQ_ERR:
        return CompletionStatus::remote_invalid_request;
    case IBV_WC_REM_ACCESS_ERR:
        return CompletionStatus::remote_access_error;
    case IBV_WC_REM_OP_ERR:
    case IBV_WC_REM_ABORT_ERR:
        return CompletionStatus::remote_operation_error;
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_RESP_TIMEOUT_ERR:
        return CompletionStatus::retry_exceeded;
    case IBV_WC_RNR_RETRY_EXC_ERR:
        return CompletionStatus::rnr_retry_exceeded;
    case IBV_WC_FATAL_ERR:
        return CompletionStatus::fatal;
    default:
        return CompletionStatus::general_error;
    }
}

wire::Completion completion_of(const ibv_wc& wc, std::uint32_t grh_bytes) noexcept {
    wire::Completion completion;
    completion.wr_id = wc.wr_id & ~receive_mark;
    completion.is_receive = (wc.wr_id & receive_mark) != 0;
    completion.queue_pair = wc.qp_num;
    completion.status = status_of(wc.status);
    if (wc.status != IBV_WC_SUCCESS) [[unlikely]] {
        completion.cause = {Origin::work_completion, static_cast<std::int32_t>(wc.status), wc.vendor_err};
        return completion;
    }
    completion.kind = kind_of(wc.opcode);
    if (completion.is_receive) {
        completion.byte_count = wc.byte_len;
        completion.grh_bytes = grh_bytes;
        if (grh_bytes != 0) completion.source_queue_pair = wc.src_qp;
    }
    if ((wc.wc_flags & IBV_WC_WITH_IMM) != 0) {
        completion.has_immediate = true;
        completion.immediate = ntohl(wc.imm_data);
    }
    return completion;
}

ibv_wr_opcode opcode_of(wire::Opcode opcode) noexcept {
    constexpr std::array table = {
        IBV_WR_SEND,      IBV_WR_SEND_WITH_IMM,        IBV_WR_RDMA_WRITE,        IBV_WR_RDMA_WRITE_WITH_IMM,
        IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP};
    static_assert(table[static_cast<std::size_t>(wire::Opcode::atomic_compare_swap)] == IBV_WR_ATOMIC_CMP_AND_SWP);
    return table[static_cast<std::size_t>(opcode)];
}

unsigned send_flags_of(std::uint8_t flags) noexcept {
    unsigned result = 0;
    if ((flags & wire::signaled) != 0) result |= IBV_SEND_SIGNALED;
    if ((flags & wire::fence) != 0) result |= IBV_SEND_FENCE;
    if ((flags & wire::inlined) != 0) result |= IBV_SEND_INLINE;
    if ((flags & wire::solicited) != 0) result |= IBV_SEND_SOLICITED;
    return result;
}

int access_flags_of(Access access) noexcept {
    int flags = 0;
    if (allows(access, Access::local_write)) flags |= IBV_ACCESS_LOCAL_WRITE;
    if (allows(access, Access::remote_read)) flags |= IBV_ACCESS_REMOTE_READ;
    // What a peer may write must be locally writable as well: ibv_reg_mr(3).
    if (allows(access, Access::remote_write)) flags |= IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE;
    if (allows(access, Access::remote_atomic)) flags |= IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_LOCAL_WRITE;
    return flags;
}

wire::QueuePairState state_of(ibv_qp_state state) noexcept {
    switch (state) {
    case IBV_QPS_RESET:
        return wire::QueuePairState::reset;
    case IBV_QPS_INIT:
        return wire::QueuePairState::init;
    case IBV_QPS_RTR:
        return wire::QueuePairState::rtr;
    case IBV_QPS_RTS:
        return wire::QueuePairState::rts;
    case IBV_QPS_SQD:
        return wire::QueuePairState::sqd;
    case IBV_QPS_SQE:
        return wire::QueuePairState::sqe;
    default:
        return wire::QueuePairState::err;
    }
}

std::optional<wire::AsyncEvent> event_of(const ibv_async_event& event) noexcept {
    switch (event.event_type) {
    case IBV_EVENT_PORT_ACTIVE:
        return wire::AsyncEvent{wire::AsyncEventKind::port_active, static_cast<std::uint32_t>(event.element.port_num)};
    case IBV_EVENT_PORT_ERR:
        return wire::AsyncEvent{wire::AsyncEventKind::port_error, static_cast<std::uint32_t>(event.element.port_num)};
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
        return wire::AsyncEvent{wire::AsyncEventKind::queue_pair_fatal, event.element.qp->qp_num};
    case IBV_EVENT_CQ_ERR:
        return wire::AsyncEvent{wire::AsyncEventKind::completion_queue_error, 0};
    case IBV_EVENT_DEVICE_FATAL:
        return wire::AsyncEvent{wire::AsyncEventKind::device_removed, 0};
    default:
        return std::nullopt;
    }
}

} // namespace verbena::verbs
