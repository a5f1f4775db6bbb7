#pragma once

#include <cstdint>
#include <vector>

#include "wire/completion_queue.hpp"

namespace verbena::reliable {

class QueuePair;

/// A ring of completions; polling it is what moves its queue pairs. Progress-thread only.
class CompletionQueue final : public wire::CompletionQueue {
  public:
    explicit CompletionQueue(std::uint32_t depth) : ring_(depth) {}

    std::size_t poll(std::span<wire::Completion> out) override;
    std::uint32_t capacity() const override { return static_cast<std::uint32_t>(ring_.size()); }
    /// None: timers must run while nothing arrives.
    int event_fd() const override { return -1; }
    void arm() override {}

    void attach(QueuePair& queue_pair) { queue_pairs_.push_back(&queue_pair); }
    /// Forgets what is left of it, too.
    void detach(QueuePair& queue_pair);

    /// @param slot of the send queue that polling it frees; unused for a receive. There is room by whoever sized this
    /// queue; a completion beyond it would be lost, as on hardware.
    void push(const wire::Completion& completion, QueuePair& of, std::uint32_t slot);

  private:
    struct Entry {
        wire::Completion completion;
        QueuePair* of = nullptr; ///< null: it was detached
        std::uint32_t slot = 0;
    };

    std::vector<QueuePair*> queue_pairs_; ///< borrowed: each takes itself out
    std::vector<Entry> ring_;
    std::uint64_t head_ = 0; ///< polled so far
    std::uint64_t tail_ = 0; ///< pushed so far
};

} // namespace verbena::reliable
