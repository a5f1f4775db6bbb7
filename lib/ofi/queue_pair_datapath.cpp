/// Posting. Hot path: no allocation, lock or system call of ours.
#include "ofi/queue_pair.hpp"

#include <algorithm>
#include <cstring>

#include <rdma/fi_atomic.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "ofi/completion_queue.hpp"
#include "ofi/errors.hpp"
#include "wire/request.hpp"

namespace verbena::ofi {
namespace {

bool may_be_inline(wire::Opcode opcode) noexcept {
    return opcode != wire::Opcode::rdma_read && !wire::is_atomic(opcode);
}

} // namespace

std::uint64_t QueuePair::flags_of(const wire::WorkRequest& request) const noexcept {
    std::uint64_t flags = FI_COMPLETION;
    if (request.opcode != wire::Opcode::rdma_read && !wire::is_atomic(request.opcode)) flags |= delivery_;
    if ((request.flags & wire::inlined) != 0) flags |= FI_INJECT;
    if ((request.flags & wire::fence) != 0) flags |= FI_FENCE;
    if (request.opcode == wire::Opcode::send_with_imm || request.opcode == wire::Opcode::rdma_write_with_imm) {
        flags |= FI_REMOTE_CQ_DATA;
    }
    return flags;
}

wire::Completion completion_of(const Slot& slot) noexcept {
    wire::Completion completion;
    completion.wr_id = slot.request.wr_id;
    completion.kind = slot.kind;
    completion.is_receive = slot.is_receive;
    completion.queue_pair = slot.owner->number();
    return completion;
}

wire::Refusal QueuePair::check(const wire::WorkRequest& request, int& native_errno) const noexcept {
    using wire::Refusal;
    if (!endpoint_) return Refusal::queue_broken;
    if (request.sges.size() > granted_.send_sges) return Refusal::too_many_sges;
    const std::uint64_t length = wire::length_of(request.sges);
    if ((request.flags & wire::inlined) != 0 && length > granted_.inline_bytes) return Refusal::inline_too_long;

    native_errno = EINVAL;
    if (request.peer.value == 0 || request.peer.value > peers_.size()) return Refusal::invalid;
    if ((request.flags & wire::inlined) != 0 && !may_be_inline(request.opcode)) return Refusal::invalid;
    if (wire::is_atomic(request.opcode) && (request.sges.size() != 1 || length != sizeof(std::uint64_t)))
        return Refusal::invalid;
    native_errno = EMSGSIZE;
    if (length > capabilities_.max_message_bytes) return Refusal::invalid;
    native_errno = EOPNOTSUPP;
    if (wire::is_atomic(request.opcode) && !capabilities_.atomics) return Refusal::invalid;
    if (request.opcode == wire::Opcode::rdma_write_with_imm && !capabilities_.write_with_imm) return Refusal::invalid;
    if ((request.flags & wire::fence) != 0 && !capabilities_.native_fence) return Refusal::invalid;
    native_errno = 0;
    return Refusal::none;
}

wire::PostResult QueuePair::post_send(std::span<const wire::WorkRequest> requests) {
    wire::PostResult result;
    for (const wire::WorkRequest& request : requests) {
        result.refusal = check(request, result.native_errno);
        if (result.refusal != wire::Refusal::none) [[unlikely]]
            break;
        Slot* slot = sends_.take();
        if (slot == nullptr) {
            result.refusal = wire::Refusal::queue_full;
            break;
        }
        fill(*slot, request);
        Peer& peer = peer_of(*slot);
        const ssize_t posted = peer.first_waiting == no_slot ? hand_over(*slot) : -FI_EAGAIN;
        if (posted == -FI_EAGAIN) {
            wait(*slot, peer);
        } else if (posted != 0) [[unlikely]] {
            const int code = static_cast<int>(-posted);
            if (!is_peer_gone(code)) {
                retire(*slot);
                result.refusal = wire::Refusal::invalid;
                result.native_errno = code;
                break;
            }
            complete_in_error(*slot, code);
        }
        ++result.accepted;
    }
    return result;
}

void QueuePair::fill(Slot& slot, const wire::WorkRequest& request) noexcept {
    slot.request = request;
    slot.request.sges = {};
    slot.kind = wire::completion_kind(request.opcode);
    slot.iov_count = static_cast<std::uint32_t>(request.sges.size());
    iovec* iov = iov_of(slot);
    void** descriptors = descriptors_of(slot);
    for (const wire::Sge& sge : request.sges) {
        *iov++ = {sge.address, sge.length};
        *descriptors++ = reinterpret_cast<void*>(sge.lkey.value);
    }
}

/// Keeps a request for later. An inline payload moves here: its buffer belongs to the caller again.
void QueuePair::wait(Slot& slot, Peer& peer) noexcept {
    if ((slot.request.flags & wire::inlined) != 0 && granted_.inline_bytes > 0) {
        std::byte* copy = &inlined_[std::size_t{slot.index} * granted_.inline_bytes];
        iovec* iov = iov_of(slot);
        std::size_t length = 0;
        for (std::uint32_t i = 0; i < slot.iov_count; ++i) {
            if (iov[i].iov_len > 0) std::memcpy(copy + length, iov[i].iov_base, iov[i].iov_len);
            length += iov[i].iov_len;
        }
        iov[0] = {copy, length};
        slot.iov_count = std::min(slot.iov_count, 1u);
    }
    if (peer.first_waiting == no_slot) {
        peer.first_waiting = slot.index;
    } else {
        sends_[peer.last_waiting].next = slot.index;
    }
    peer.last_waiting = slot.index;
    ++waiting_;
}

void QueuePair::post_waiting() {
    if (waiting_ == 0) return;
    for (Peer& peer : peers_) {
        while (peer.first_waiting != no_slot) {
            Slot& slot = sends_[peer.first_waiting];
            const ssize_t posted = hand_over(slot);
            if (posted == -FI_EAGAIN) break;
            take_waiting(peer);
            if (posted != 0) complete_in_error(slot, static_cast<int>(-posted));
        }
        if (!has_given_up(peer)) continue;
        while (peer.first_waiting != no_slot) complete_in_error(take_waiting(peer), FI_ETIMEDOUT);
    }
}

/// Reads the clock only while requests wait and none is in hand. With some in hand libfabric is busy, or reports
/// them when the connection breaks.
bool QueuePair::has_given_up(Peer& peer) noexcept {
    if (peer.first_waiting == no_slot || peer.submitted > 0) {
        peer.silent_since = {};
        return false;
    }
    const auto now = std::chrono::steady_clock::now();
    if (peer.silent_since == std::chrono::steady_clock::time_point{}) peer.silent_since = now;
    return now - peer.silent_since >= peer_timeout_;
}

Slot& QueuePair::take_waiting(Peer& peer) noexcept {
    Slot& slot = sends_[peer.first_waiting];
    peer.first_waiting = slot.next;
    slot.next = no_slot;
    --waiting_;
    return slot;
}

ssize_t QueuePair::hand_over(Slot& slot) noexcept {
    const ssize_t posted = submit(slot);
    if (posted == 0) {
        slot.submitted = ++last_submitted_;
        ++peer_of(slot).submitted;
    }
    return posted;
}

Slot* QueuePair::oldest_rma() noexcept {
    Slot* oldest = nullptr;
    for (Slot& slot : sends_.all()) {
        const bool is_rma =
            slot.kind == wire::CompletionKind::rdma_read || slot.kind == wire::CompletionKind::rdma_write;
        if (slot.state != Slot::State::outstanding || slot.submitted == 0 || !is_rma) continue;
        if (oldest == nullptr || slot.submitted < oldest->submitted) oldest = &slot;
    }
    return oldest;
}

void QueuePair::complete_in_error(Slot& slot, int code) noexcept {
    wire::Completion completion = completion_of(slot);
    completion.status = status_of(code);
    completion.cause = cause_of(code);
    (slot.is_receive ? receive_cq_ : send_cq_).push(slot, completion);
}

ssize_t QueuePair::submit(Slot& slot) noexcept {
    const fi_addr_t peer = peer_of(slot).address;
    switch (slot.kind) {
    case wire::CompletionKind::rdma_write:
    case wire::CompletionKind::rdma_read:
        return submit_rma(slot, peer);
    case wire::CompletionKind::atomic:
        return submit_atomic(slot, peer);
    default:
        return submit_message(slot, peer);
    }
}

ssize_t QueuePair::submit_message(Slot& slot, fi_addr_t peer) noexcept {
    fi_msg message{};
    message.msg_iov = iov_of(slot);
    message.desc = descriptors_of(slot);
    message.iov_count = slot.iov_count;
    message.addr = peer;
    message.context = &slot.context;
    message.data = slot.request.immediate;
    return fi_sendmsg(endpoint_.get(), &message, flags_of(slot.request));
}

ssize_t QueuePair::submit_rma(Slot& slot, fi_addr_t peer) noexcept {
    const iovec* iov = iov_of(slot);
    fi_rma_iov remote{};
    remote.addr = slot.request.remote.address;
    remote.key = slot.request.remote.rkey.value;
    for (std::uint32_t i = 0; i < slot.iov_count; ++i) remote.len += iov[i].iov_len;
    fi_msg_rma message{};
    message.msg_iov = iov;
    message.desc = descriptors_of(slot);
    message.iov_count = slot.iov_count;
    message.addr = peer;
    message.rma_iov = &remote;
    message.rma_iov_count = 1;
    message.context = &slot.context;
    message.data = slot.request.immediate;
    return slot.kind == wire::CompletionKind::rdma_read
               ? fi_readmsg(endpoint_.get(), &message, flags_of(slot.request))
               : fi_writemsg(endpoint_.get(), &message, flags_of(slot.request));
}

ssize_t QueuePair::submit_atomic(Slot& slot, fi_addr_t peer) noexcept {
    wire::WorkRequest& request = slot.request;
    fi_ioc operand{&request.operand, 1};
    fi_ioc compare{&request.compare, 1};
    fi_ioc result{iov_of(slot)->iov_base, 1};
    fi_rma_ioc remote{request.remote.address, 1, request.remote.rkey.value};
    const bool swaps = request.opcode == wire::Opcode::atomic_compare_swap;
    fi_msg_atomic message{};
    message.msg_iov = &operand;
    message.iov_count = 1;
    message.addr = peer;
    message.rma_iov = &remote;
    message.rma_iov_count = 1;
    message.datatype = FI_UINT64;
    message.op = swaps ? FI_CSWAP : FI_SUM;
    message.context = &slot.context;
    void** descriptors = descriptors_of(slot);
    return swaps ? fi_compare_atomicmsg(endpoint_.get(), &message, &compare, nullptr, 1, &result, descriptors, 1,
                                        flags_of(request))
                 : fi_fetch_atomicmsg(endpoint_.get(), &message, &result, descriptors, 1, flags_of(request));
}

wire::PostResult QueuePair::post_receive(std::span<const wire::ReceiveRequest> requests) {
    wire::PostResult result;
    for (const wire::ReceiveRequest& request : requests) {
        if (!endpoint_) result.refusal = wire::Refusal::queue_broken;
        if (request.sges.size() > granted_.receive_sges) result.refusal = wire::Refusal::too_many_sges;
        if (result.refusal != wire::Refusal::none) break;
        Slot* slot = receives_.take();
        if (slot == nullptr) {
            result.refusal = wire::Refusal::queue_full;
            break;
        }
        slot->request.wr_id = request.wr_id;
        slot->kind = wire::CompletionKind::receive;
        for (std::size_t i = 0; i < request.sges.size(); ++i) {
            receive_iovs_[i] = {request.sges[i].address, request.sges[i].length};
            receive_descriptors_[i] = reinterpret_cast<void*>(request.sges[i].lkey.value);
        }
        fi_msg message{};
        message.msg_iov = receive_iovs_.data();
        message.desc = receive_descriptors_.data();
        message.iov_count = request.sges.size();
        message.addr = FI_ADDR_UNSPEC;
        message.context = &slot->context;
        if (const ssize_t posted = fi_recvmsg(endpoint_.get(), &message, FI_COMPLETION); posted != 0) {
            retire(*slot);
            result.refusal = posted == -FI_EAGAIN ? wire::Refusal::queue_full : wire::Refusal::invalid;
            result.native_errno = static_cast<int>(-posted);
            break;
        }
        ++result.accepted;
    }
    return result;
}

} // namespace verbena::ofi
