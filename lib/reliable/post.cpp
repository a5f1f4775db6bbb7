/// Requests and receives are taken; completions are given. Hot path.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "reliable/completion_queue.hpp"
#include "reliable/device.hpp"
#include "reliable/queue_pair.hpp"
#include "wire/refusal.hpp"
#include "wire/request.hpp"

namespace verbena::reliable {
namespace {

using wire::CompletionStatus;
using wire::Opcode;
using wire::Refusal;

/// ibv_wc_status, and ETIMEDOUT for what only we can know.
Cause cause_of(CompletionStatus status) noexcept {
    switch (status) {
    case CompletionStatus::success:
        return {};
    case CompletionStatus::retry_exceeded:
        return {Origin::system_errno, ETIMEDOUT, 0};
    case CompletionStatus::flushed:
        return {Origin::work_completion, 5, 0};
    case CompletionStatus::local_length_error:
        return {Origin::work_completion, 1, 0};
    case CompletionStatus::remote_access_error:
        return {Origin::work_completion, 10, 0};
    default:
        return {Origin::work_completion, 21, 0};
    }
}

void push(Fifo& fifo, std::uint32_t index, auto& elements) noexcept {
    elements[index].next = nobody;
    (fifo.head == nobody ? fifo.head : elements[fifo.tail].next) = index;
    fifo.tail = index;
}

} // namespace

void QueuePair::List::assign(std::span<const wire::Sge> from) noexcept {
    std::copy(from.begin(), from.end(), sges.begin());
    count = static_cast<std::uint32_t>(from.size());
    length = static_cast<std::uint32_t>(std::min<std::uint64_t>(wire::length_of(from), 0xffffffff));
}

void QueuePair::List::gather(std::uint32_t offset, std::span<std::byte> to) const noexcept {
    for (std::uint32_t i = 0; i < count && !to.empty(); ++i) {
        if (offset >= sges[i].length) {
            offset -= sges[i].length;
            continue;
        }
        const std::size_t part = std::min<std::size_t>(sges[i].length - offset, to.size());
        std::memcpy(to.data(), sges[i].address + offset, part);
        to = to.subspan(part);
        offset = 0;
    }
}

void QueuePair::List::scatter(std::uint32_t offset, std::span<const std::byte> from) const noexcept {
    for (std::uint32_t i = 0; i < count && !from.empty(); ++i) {
        if (offset >= sges[i].length) {
            offset -= sges[i].length;
            continue;
        }
        const std::size_t part = std::min<std::size_t>(sges[i].length - offset, from.size());
        std::memcpy(sges[i].address + offset, from.data(), part);
        from = from.subspan(part);
        offset = 0;
    }
}

Refusal QueuePair::why_refused(const wire::WorkRequest& request) noexcept {
    if (request.sges.size() > granted_.send_sges) return Refusal::too_many_sges;
    const std::uint64_t length = wire::length_of(request.sges);
    if ((request.flags & wire::inlined) != 0 && length > granted_.inline_bytes) return Refusal::inline_too_long;
    if (failed_) return Refusal::queue_broken;
    const Peer* const peer = find(request.peer);
    const bool known = request.opcode == Opcode::send || request.opcode == Opcode::send_with_imm ||
                       request.opcode == Opcode::rdma_read || request.opcode == Opcode::rdma_write;
    // Nothing may be unsignaled: each completion frees its own slot.
    if (peer == nullptr || !known || (request.flags & wire::signaled) == 0 ||
        length > device_.capabilities().max_message_bytes) {
        return Refusal::invalid;
    }
    return free_requests_.empty() ? Refusal::queue_full : Refusal::none;
}

void QueuePair::admit(const wire::WorkRequest& posted) noexcept {
    const std::uint32_t index = free_requests_.back();
    free_requests_.pop_back();
    Request& request = requests_[index];
    request.wr_id = posted.wr_id;
    request.opcode = posted.opcode;
    request.active = true;
    request.all_sent = false;
    ++request.generation;
    request.peer = static_cast<std::uint32_t>(posted.peer.value - 1);
    request.offset = request.unacknowledged = request.received = 0;
    request.immediate = posted.immediate;
    request.remote = posted.remote;
    request.list.assign(posted.sges);
    Peer& peer = peers_[request.peer];
    if (peer.is_lost) {
        complete(index, CompletionStatus::flushed);
        return;
    }
    push(peer.requests, index, requests_);
    make_ready(peer);
}

wire::PostResult QueuePair::post_send(std::span<const wire::WorkRequest> requests) {
    wire::PostResult result;
    for (const wire::WorkRequest& request : requests) {
        result.refusal = why_refused(request);
        if (result.refusal != Refusal::none) break;
        admit(request);
        ++result.accepted;
    }
    result.native_errno = wire::errno_of(result.refusal);
    if (result.accepted > 0 && !ready_.empty()) {
        now_ = device_.options().clock();
        pump();
    }
    return result;
}

wire::PostResult QueuePair::post_receive(std::span<const wire::ReceiveRequest> requests) {
    wire::PostResult result;
    for (const wire::ReceiveRequest& request : requests) {
        if (request.sges.size() > granted_.receive_sges) {
            result.refusal = Refusal::too_many_sges;
        } else if (failed_) {
            result.refusal = Refusal::queue_broken;
        } else if (free_receives_.empty()) {
            result.refusal = Refusal::queue_full;
        }
        if (result.refusal != Refusal::none) break;
        const std::uint32_t slot = free_receives_.back();
        free_receives_.pop_back();
        receives_[slot].wr_id = request.wr_id;
        receives_[slot].list.assign(request.sges);
        posted_receives_[receives_tail_++ % posted_receives_.size()] = slot;
        ++result.accepted;
    }
    result.native_errno = wire::errno_of(result.refusal);
    return result; // peers that wait for a receive go on at the next poll
}

void QueuePair::complete(std::uint32_t index, CompletionStatus status) {
    Request& request = requests_[index];
    request.active = false;
    wire::Completion completion;
    completion.wr_id = request.wr_id;
    completion.kind = wire::completion_kind(request.opcode);
    completion.status = status;
    completion.queue_pair = number();
    completion.cause = cause_of(status);
    send_cq_.push(completion, *this, index);
}

void QueuePair::complete_receive(std::uint32_t slot, CompletionStatus status, std::uint32_t bytes,
                                 const PacketHeader* header) {
    wire::Completion completion;
    completion.wr_id = receives_[slot].wr_id;
    completion.kind = wire::CompletionKind::receive;
    completion.status = status;
    completion.is_receive = true;
    completion.queue_pair = number();
    completion.byte_count = bytes;
    completion.cause = cause_of(status);
    if (header != nullptr && (header->flags & has_immediate) != 0) {
        completion.has_immediate = true;
        completion.immediate = header->immediate;
    }
    receive_cq_.push(completion, *this, slot);
}

void QueuePair::on_polled(bool receive, std::uint32_t slot) noexcept {
    (receive ? free_receives_ : free_requests_).push_back(slot);
}

void QueuePair::owe(Peer& peer, const Response& response) {
    if (++peer.responses_queued > most_responses) {
        violation(peer, "asked for more READs than any send queue holds");
        return;
    }
    if (free_responses_.empty()) {
        responses_.emplace_back();
        free_responses_.push_back(static_cast<std::uint32_t>(responses_.size() - 1));
        free_responses_.reserve(responses_.capacity());
    }
    const std::uint32_t index = free_responses_.back();
    free_responses_.pop_back();
    responses_[index] = response;
    push(peer.responses, index, responses_);
    make_ready(peer);
}

} // namespace verbena::reliable
