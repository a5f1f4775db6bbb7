#include "ofi/completion_queue.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#include "ofi/errors.hpp"
#include "ofi/queue_pair.hpp"

namespace verbena::ofi {
namespace {

/// Entries per fi_cq_read: enough to spread the cost of the call, few enough for the stack (40 bytes each).
constexpr std::size_t batch = 32;

wire::Completion completion_of(const Slot& slot, const fi_cq_data_entry& entry) {
    wire::Completion completion = completion_of(slot);
    if (slot.is_receive) {
        completion.byte_count = static_cast<std::uint32_t>(entry.len);
        completion.has_immediate = (entry.flags & FI_REMOTE_CQ_DATA) != 0;
        completion.immediate = completion.has_immediate ? static_cast<std::uint32_t>(entry.data) : 0;
        if ((entry.flags & FI_RMA) != 0) completion.kind = wire::CompletionKind::receive_rdma_with_imm;
    }
    return completion;
}

wire::Completion failure_of(const Slot& slot, const fi_cq_err_entry& entry) {
    const int code = std::abs(entry.err); // shm leaves the sign of its return values
    wire::Completion completion = completion_of(slot);
    completion.status = status_of(code);
    // We cancel nothing: libfabric does so to what is outstanding when its connection to the peer breaks.
    if (code == FI_ECANCELED && !slot.owner->is_failed()) completion.status = wire::CompletionStatus::retry_exceeded;
    completion.cause = cause_of(code, std::abs(entry.prov_errno));
    return completion;
}

} // namespace

CompletionQueue::CompletionQueue(fid_fabric& fabric, fid_domain& domain, const std::string& device, std::uint32_t depth)
    : fabric_(fabric), capacity_(std::max(depth, 1u)) {
    fi_cq_attr attr{};
    attr.size = capacity_;
    attr.format = FI_CQ_FORMAT_DATA;
    attr.wait_obj = FI_WAIT_FD;
    fid_cq* queue = nullptr;
    if (fi_cq_open(&domain, &attr, &queue, nullptr) != 0) {
        // Providers that only ever poll (shm) have no descriptor to wait on.
        attr.wait_obj = FI_WAIT_NONE;
        check("fi_cq_open", device, fi_cq_open(&domain, &attr, &queue, nullptr));
    }
    queue_.reset(queue);
    if (attr.wait_obj == FI_WAIT_FD && fi_control(&queue->fid, FI_GETWAIT, &event_fd_) != 0) event_fd_ = -1;
}

void CompletionQueue::attach(QueuePair& queue_pair, std::size_t requests) {
    queue_pairs_.push_back(&queue_pair);
    ready_.grow(requests);
}

void CompletionQueue::detach(QueuePair& queue_pair, std::size_t requests) {
    queue_pairs_.erase(std::find(queue_pairs_.begin(), queue_pairs_.end(), &queue_pair));
    ready_.shrink(requests, queue_pair);
}

std::size_t CompletionQueue::poll(std::span<wire::Completion> out) {
    std::size_t filled = 0;
    const auto hand_out = [&](Slot& slot, const wire::Completion& completion) {
        out[filled++] = completion;
        slot.owner->retire(slot);
    };
    while (!ready_.empty() && filled < out.size()) {
        const ReadyList::Entry entry = ready_.pop();
        hand_out(*entry.slot, entry.completion);
    }
    read(out.size() - filled, hand_out);
    for (QueuePair* queue_pair : queue_pairs_) queue_pair->post_waiting();
    return filled;
}

void CompletionQueue::drain() {
    read(SIZE_MAX, [this](Slot& slot, const wire::Completion& completion) { ready_.push(slot, completion); });
}

/// shm moves RMA while it posts, and reports a failure there (the peer's process is gone) without the context. Its
/// entries are in posting order, so what failed is the oldest that has no completion.
Slot* CompletionQueue::slot_of(const fi_cq_err_entry& error) noexcept {
    if (error.op_context != nullptr) return static_cast<Slot*>(error.op_context);
    for (QueuePair* queue_pair : queue_pairs_) {
        if (!queue_pair->moves_rma_while_posting()) continue;
        if (Slot* slot = queue_pair->oldest_rma(); slot != nullptr) return slot;
    }
    return nullptr;
}

template <class Consume>
void CompletionQueue::read(std::size_t limit, Consume consume) {
    std::array<fi_cq_data_entry, batch> entries;
    while (limit > 0) {
        const ssize_t count = fi_cq_read(queue_.get(), entries.data(), std::min(batch, limit));
        if (count == -FI_EAVAIL) {
            fi_cq_err_entry error{};
            if (fi_cq_readerr(queue_.get(), &error, 0) != 1) return;
            Slot* slot = slot_of(error);
            if (slot == nullptr) continue;
            slot->owner->finish(*slot);
            consume(*slot, failure_of(*slot, error));
            --limit;
            continue;
        }
        if (count <= 0) return;
        for (const fi_cq_data_entry& entry : std::span(entries).first(static_cast<std::size_t>(count))) {
            // Without a context: a peer's write with immediate data, offered only where it takes a receive.
            if (entry.op_context == nullptr) continue;
            Slot& slot = *static_cast<Slot*>(entry.op_context);
            slot.owner->finish(slot);
            consume(slot, completion_of(slot, entry));
            --limit;
        }
    }
}

void CompletionQueue::arm() {
    // The return value says that there is something to poll for already, and the caller polls after arming anyway.
    fid* fids[] = {&queue_->fid};
    if (event_fd_ >= 0) fi_trywait(&fabric_, fids, 1);
}

} // namespace verbena::ofi
