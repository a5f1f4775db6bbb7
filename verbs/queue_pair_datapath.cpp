/// Posting: the hot path. No allocation, lock of ours or system call (Soft-RoCE's provider makes one a doorbell).
#include "verbs/queue_pair.hpp"

#include <algorithm>
#include <cerrno>

#include <arpa/inet.h>

#include "verbs/device.hpp"
#include "verbs/translate.hpp"
#include "wire/request.hpp"

namespace verbena::verbs {
namespace {

using wire::Refusal;

void copy_sges(std::span<const wire::Sge> from, ibv_sge* to) {
    for (const wire::Sge& sge : from) {
        *to++ = {reinterpret_cast<std::uintptr_t>(sge.address), sge.length, static_cast<std::uint32_t>(sge.lkey.value)};
    }
}

/// What one post call took, and what it returned when that was not everything.
struct Posted {
    std::uint32_t accepted = 0;
    int result = 0;
    int system_errno = 0;
};

/// Hands the first `count` of the pre-linked `slots` to the provider: cuts the chain there, mends it afterwards.
template <class Native, class Post>
Posted post_chain(std::span<Native> slots, std::size_t count, Post post) {
    Native& last = slots[count - 1];
    Native* const link = last.next;
    last.next = nullptr;
    Native* first_refused = slots.data();
    errno = 0;
    const int result = post(slots.data(), &first_refused);
    last.next = link;
    if (result == 0) return {static_cast<std::uint32_t>(count), 0, 0};
    return {static_cast<std::uint32_t>(first_refused - slots.data()), result, errno};
}

} // namespace

wire::Refusal QueuePair::prepare(const wire::WorkRequest& request, std::size_t slot) {
    if (request.sges.size() > granted_.send_sges) return Refusal::too_many_sges;
    if ((request.flags & wire::inlined) != 0 && wire::length_of(request.sges) > granted_.inline_bytes) {
        return Refusal::inline_too_long;
    }
    if (device_.is_datagram() && (request.peer.value == 0 || request.peer.value > peers_.size() ||
                                  wire::length_of(request.sges) > local_.active_mtu_bytes)) {
        return Refusal::invalid;
    }
    ibv_send_wr& native = sends_[slot];
    native.wr_id = request.wr_id;
    native.num_sge = static_cast<int>(request.sges.size());
    native.opcode = opcode_of(request.opcode);
    native.send_flags = send_flags_of(request.flags);
    native.imm_data = htonl(request.immediate);
    copy_sges(request.sges, native.sg_list);
    if (device_.is_datagram()) {
        const Peer& peer = peers_[request.peer.value - 1];
        native.wr.ud = {peer.handle.get(), peer.address.number, peer.address.qkey};
    } else if (request.opcode == wire::Opcode::atomic_fetch_add) {
        native.wr.atomic = {request.remote.address, request.operand, 0,
                            static_cast<std::uint32_t>(request.remote.rkey.value)};
    } else if (request.opcode == wire::Opcode::atomic_compare_swap) {
        native.wr.atomic = {request.remote.address, request.compare, request.operand,
                            static_cast<std::uint32_t>(request.remote.rkey.value)};
    } else {
        native.wr.rdma = {request.remote.address, static_cast<std::uint32_t>(request.remote.rkey.value)};
    }
    return Refusal::none;
}

wire::Refusal QueuePair::prepare(const wire::ReceiveRequest& request, std::size_t slot) {
    if (request.sges.size() > granted_.receive_sges) return Refusal::too_many_sges;
    ibv_recv_wr& native = receives_[slot];
    native.wr_id = request.wr_id | receive_mark;
    native.num_sge = static_cast<int>(request.sges.size());
    copy_sges(request.sges, native.sg_list);
    return Refusal::none;
}

/// Off the hot path but for "full".
wire::PostResult QueuePair::refused(std::uint32_t accepted, int result, int system_errno) const {
    const int code = post_errno(result, system_errno);
    Refusal refusal = refusal_of(code);
    // Providers say EINVAL both for a bad request and for a queue pair that is not ready.
    if (refusal == Refusal::invalid) {
        const auto state = query_state();
        if (!state || (*state != IBV_QPS_RTS && *state != IBV_QPS_RTR && *state != IBV_QPS_INIT)) {
            refusal = Refusal::queue_broken;
        }
    }
    return {accepted, refusal, code};
}

wire::PostResult QueuePair::post_send(std::span<const wire::WorkRequest> requests) {
    if (failed_) [[unlikely]]
        return {0, Refusal::queue_broken, 0};
    return post_pieces(requests, std::span(sends_), [this](ibv_send_wr* first, ibv_send_wr** refused) {
        return ibv_post_send(queue_pair_.get(), first, refused);
    });
}

wire::PostResult QueuePair::post_receive(std::span<const wire::ReceiveRequest> requests) {
    if (failed_) [[unlikely]]
        return {0, Refusal::queue_broken, 0};
    return post_pieces(requests, std::span(receives_), [this](ibv_recv_wr* first, ibv_recv_wr** refused) {
        return ibv_post_recv(queue_pair_.get(), first, refused);
    });
}

template <class Request, class Native, class Post>
wire::PostResult QueuePair::post_pieces(std::span<const Request> requests, std::span<Native> slots, Post post) {
    wire::PostResult result;
    while (result.accepted < requests.size() && result.refusal == Refusal::none) {
        const auto piece = requests.subspan(result.accepted, std::min(requests.size() - result.accepted, slots.size()));
        std::size_t ready = 0;
        while (ready < piece.size() && (result.refusal = prepare(piece[ready], ready)) == Refusal::none) ++ready;
        if (ready == 0) break;
        const Posted posted = post_chain(slots, ready, post);
        result.accepted += posted.accepted;
        if (posted.result != 0) [[unlikely]]
            return refused(result.accepted, posted.result, posted.system_errno);
    }
    return result;
}

} // namespace verbena::verbs
