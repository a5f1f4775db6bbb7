#pragma once

#include <cstdint>
#include <vector>

#include "sim/event_queue.hpp"
#include "wire/completion_queue.hpp"

namespace verbena::sim {

class Device;

/// A ring of completions. Progress-thread only.
class CompletionQueue final : public wire::CompletionQueue {
  public:
    CompletionQueue(Device& device, std::uint32_t depth);

    /// Polling is what gives slots back, where the personality says so.
    std::size_t poll(std::span<wire::Completion> out) override;
    std::uint32_t capacity() const override { return static_cast<std::uint32_t>(ring_.size()); }
    int event_fd() const override { return -1; }
    void arm() override {}

    /// @param slot of the send queue that the completion speaks for; unused for a receive. Without room the completion
    /// is lost and an AsyncEvent says so.
    void push(const wire::Completion& completion, std::uint64_t slot);

    /// Overrun: nothing that comes later is kept, and the queue pairs on it are at their end.
    [[nodiscard]] bool is_dead() const noexcept { return dead_; }

  private:
    [[nodiscard]] Time becomes_visible_at();

    struct Entry {
        wire::Completion completion;
        std::uint64_t slot = 0;
        Time visible_at = 0;
    };

    Device& device_;
    std::vector<Entry> ring_;
    std::uint64_t head_ = 0;   ///< polled so far
    std::uint64_t tail_ = 0;   ///< pushed so far
    Time last_visible_at_ = 0; ///< entries keep their order
    bool dead_ = false;
};

} // namespace verbena::sim
