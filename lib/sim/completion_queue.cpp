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
    const Time now = device_.fabric().now();
    std::size_t count = 0;
    for (; count < out.size() && head_ != tail_; ++count) {
        const Entry& entry = ring_[head_ % ring_.size()];
        if (entry.visible_at > now) break;
        ++head_;
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
        ++device_.fabric().count().completion_queue_overruns;
        dead_ = device_.personality().overrun_kills_queue;
        device_.raise({wire::AsyncEventKind::completion_queue_error, completion.queue_pair});
        return;
    }
    ++device_.fabric().count().completions;
    ring_[tail_++ % ring_.size()] = {completion, slot, becomes_visible_at()};
}

Time CompletionQueue::becomes_visible_at() {
    const std::uint32_t most = device_.personality().max_completion_delay_ns;
    if (most == 0) return 0;
    Fabric& fabric = device_.fabric();
    last_visible_at_ = std::max(last_visible_at_, fabric.now() + fabric.random().up_to(most));
    if (last_visible_at_ > fabric.now()) { // time must get there, also when nothing else is on its way
        Event event;
        event.kind = EventKind::visibility;
        event.device = device_.number();
        fabric.schedule(last_visible_at_, event);
    }
    return last_visible_at_;
}

} // namespace verbena::sim
