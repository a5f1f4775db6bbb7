/// Hot path: poll() neither allocates nor calls the system.
#include "shm/completion_queue.hpp"

#include <algorithm>

#include "shm/queue_pair.hpp"

namespace verbena::shm {

std::size_t CompletionQueue::poll(std::span<wire::Completion> out) {
    if (count_ == 0) {
        for (QueuePair* queue_pair : queue_pairs_) queue_pair->progress();
    }
    return count_ == 0 ? 0 : hand_out(out);
}

std::size_t CompletionQueue::hand_out(std::span<wire::Completion> out) noexcept {
    const std::size_t filled = std::min(out.size(), count_);
    for (std::size_t i = 0; i < filled; ++i) {
        const Entry& entry = ring_[first_];
        out[i] = entry.completion;
        entry.owner->retire(entry.completion.is_receive, entry.number);
        if (++first_ == ring_.size()) first_ = 0;
    }
    count_ -= filled;
    return filled;
}

void CompletionQueue::attach(QueuePair& queue_pair, std::size_t requests) {
    if (std::ranges::find(queue_pairs_, &queue_pair) == queue_pairs_.end()) queue_pairs_.push_back(&queue_pair);
    rebuild(ring_.size() + requests, nullptr);
}

void CompletionQueue::detach(QueuePair& queue_pair, std::size_t requests) {
    std::erase(queue_pairs_, &queue_pair);
    rebuild(ring_.size() - requests, &queue_pair);
}

void CompletionQueue::rebuild(std::size_t size, const QueuePair* dropped) {
    std::vector<Entry> kept;
    kept.reserve(size);
    for (std::size_t i = 0; i < count_; ++i) {
        const Entry& entry = ring_[(first_ + i) % ring_.size()];
        if (entry.owner != dropped) kept.push_back(entry);
    }
    first_ = 0;
    count_ = kept.size();
    kept.resize(size);
    ring_ = std::move(kept);
}

} // namespace verbena::shm
