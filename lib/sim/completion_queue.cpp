#include "sim/completion_queue.hpp"

#include <algorithm>
#include <bit>

#include "sim/device.hpp"
#include "sim/queue_pair.hpp"

namespace verbena::sim {

// Providers round up to a power of two and keep one entry free: asked 10 gives 15.
CompletionQueue::CompletionQueue(Device& device, std::uint32_t depth)
    : device_(device), ring_(std::min(std::bit_ceil(depth + 1) - 1, device.capabilities().max_completions)) {}

std::size_t CompletionQueue::poll(std::span<wire::Completion> out) {
    if (!device_.is_alive()) return 0;
    std::size_t count = 0;
    for (; count < out.size() && head_ != tail_; ++count) {
        const Entry& entry = ring_[head_++ % ring_.size()];
        out[count] = entry.completion;
        QueuePair* const queue_pair = device_.find_queue_pair(entry.completion.queue_pair);
        if (queue_pair == nullptr) continue;
        if (entry.completion.is_receive) {
            queue_pair->on_receive_polled();
        } else {
            queue_pair->on_polled(entry.slot);
        }
    }
    return count;
}

void CompletionQueue::push(const wire::Completion& completion, std::uint64_t slot) {
    if (dead_) return;
    if (tail_ - head_ == ring_.size()) {
        dead_ = device_.personality().overrun_kills_queue;
        device_.raise({wire::AsyncEventKind::completion_queue_error, completion.queue_pair});
        return;
    }
    ring_[tail_++ % ring_.size()] = {completion, slot};
}

} // namespace verbena::sim
