#include "reliable/completion_queue.hpp"

#include <algorithm>

#include "reliable/queue_pair.hpp"

namespace verbena::reliable {

std::size_t CompletionQueue::poll(std::span<wire::Completion> out) {
    if (out.empty()) return 0;
    for (QueuePair* queue_pair : queue_pairs_) queue_pair->progress();
    std::size_t count = 0;
    while (count < out.size() && head_ != tail_) {
        Entry& entry = ring_[head_++ % ring_.size()];
        if (entry.of == nullptr) continue;
        entry.of->on_polled(entry.completion.is_receive, entry.slot);
        out[count++] = entry.completion;
    }
    return count;
}

void CompletionQueue::push(const wire::Completion& completion, QueuePair& of, std::uint32_t slot) {
    if (tail_ - head_ == ring_.size()) return;
    ring_[tail_++ % ring_.size()] = {completion, &of, slot};
}

void CompletionQueue::detach(QueuePair& queue_pair) {
    std::erase(queue_pairs_, &queue_pair);
    for (std::uint64_t at = head_; at != tail_; ++at) {
        Entry& entry = ring_[at % ring_.size()];
        if (entry.of == &queue_pair) entry.of = nullptr;
    }
}

} // namespace verbena::reliable
