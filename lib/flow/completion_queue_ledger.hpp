/// @file
/// Room in a completion queue. A value: no clock, no I/O, no allocation. One caller at a time.
///
/// Every request that can be posted holds an entry for as long as its queue exists, signaled or not: an error or a
/// flush completes them all at once. An overrun is silent where it happens and kills the queue (IBV_EVENT_CQ_ERR), so
/// it is made impossible when queues are added rather than noticed while they run.
#pragma once

#include <cassert>
#include <cstdint>

namespace verbena::flow {

class CompletionQueueLedger {
  public:
    explicit CompletionQueueLedger(std::uint32_t capacity) noexcept : capacity_(capacity) {}

    [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }
    [[nodiscard]] std::uint32_t reserved() const noexcept { return reserved_; }
    [[nodiscard]] std::uint32_t available() const noexcept { return capacity_ - reserved_; }

    /// Takes `entries` for a queue of that depth; false, and nothing taken, where they do not fit.
    [[nodiscard]] bool reserve(std::uint32_t entries) noexcept {
        if (entries > available()) return false;
        reserved_ += entries;
        return true;
    }

    /// Gives back what a destroyed queue held.
    void release(std::uint32_t entries) noexcept {
        assert(entries <= reserved_);
        reserved_ -= entries;
    }

  private:
    std::uint32_t capacity_;
    std::uint32_t reserved_ = 0;
};

} // namespace verbena::flow
