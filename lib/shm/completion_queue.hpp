#pragma once

#include <cstdint>
#include <vector>

#include "wire/completion_queue.hpp"

namespace verbena::shm {

class QueuePair;

/// Completions of its queue pairs in the order in which they came about: a ring with room for every request that they
/// can have outstanding. Polling it is what moves messages. Progress-thread only.
class CompletionQueue final : public wire::CompletionQueue {
  public:
    explicit CompletionQueue(std::uint32_t depth) : capacity_(depth > 0 ? depth : 1) {}

    std::size_t poll(std::span<wire::Completion> out) override;
    [[nodiscard]] std::uint32_t capacity() const override { return capacity_; }
    [[nodiscard]] int event_fd() const override { return -1; } ///< shared memory wakes nobody
    void arm() override {}

    /// A queue pair that reports here, with the most requests that it can have outstanding here. Set-up path.
    void attach(QueuePair& queue_pair, std::size_t requests);
    /// Its completions that nobody has polled are dropped. Set-up path.
    void detach(QueuePair& queue_pair, std::size_t requests);

    /// @param number of the request in its queue, given back to the queue pair when the completion is polled. Hot path.
    void push(QueuePair& queue_pair, const wire::Completion& completion, std::uint64_t number) noexcept {
        std::size_t next = first_ + count_++;
        if (next >= ring_.size()) next -= ring_.size();
        ring_[next] = {&queue_pair, number, completion};
    }

  private:
    struct Entry {
        QueuePair* owner = nullptr;
        std::uint64_t number = 0;
        wire::Completion completion{};
    };

    std::size_t hand_out(std::span<wire::Completion> out) noexcept;
    void rebuild(std::size_t size, const QueuePair* dropped);

    std::uint32_t capacity_;
    std::vector<Entry> ring_;
    std::size_t first_ = 0;
    std::size_t count_ = 0;
    std::vector<QueuePair*> queue_pairs_; ///< borrowed: each takes itself out
};

} // namespace verbena::shm
