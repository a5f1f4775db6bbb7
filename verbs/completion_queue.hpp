#pragma once

#include <array>
#include <vector>

#include "verbs/handles.hpp"
#include "wire/completion_queue.hpp"

namespace verbena::verbs {

class Device;

/// One ibv_cq with a completion channel of its own. Progress-thread only.
class CompletionQueue final : public wire::CompletionQueue {
  public:
    /// @throws Error (exhausted) with the size and max_cqe
    CompletionQueue(Device& device, std::uint32_t depth);

    std::size_t poll(std::span<wire::Completion> out) override;
    std::uint32_t capacity() const override { return static_cast<std::uint32_t>(queue_->cqe); }
    int event_fd() const override { return channel_->fd; }
    void arm() override;

    [[nodiscard]] ibv_cq& native() noexcept { return *queue_; }
    [[nodiscard]] const Device& device() const noexcept { return device_; }

    /// Forgets what is left of a queue pair that was destroyed: its number may be given to another one. Providers
    /// differ in doing so themselves. Completions of others are kept for poll().
    void purge(std::uint32_t queue_pair);

  private:
    std::size_t poll_kept(std::span<wire::Completion> out);
    std::size_t poll_native(std::span<wire::Completion> out);

    Device& device_;
    CompletionChannel channel_;
    CompletionQueueHandle queue_;
    std::array<ibv_wc, 32> batch_{};
    std::vector<wire::Completion> kept_; ///< polled by purge(), oldest first; empty in steady state
    std::size_t next_kept_ = 0;
};

} // namespace verbena::verbs
