/// @file
/// A device that hands everything on and takes notes: both programs of a scenario run on it, so that both ledgers are
/// drawn from what the provider was really given. Progress-thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lab/slot_view.hpp"
#include "wire/device.hpp"

namespace verbena::lab {

/// What went through one device.
struct Notes {
    SlotView sends;                       ///< of the queue pair that was made last
    std::uint32_t completion_entries = 0; ///< of the completion queue that was made last
    std::uint64_t refused = 0;
    std::uint64_t receives_posted = 0;
    std::uint64_t receives_completed = 0;
    std::uint64_t bare_grants = 0; ///< messages of verbena that carry credits alone
    std::uint64_t flushed = 0;     ///< completions of either queue
    std::uint64_t failed = 0;      ///< completions that neither succeeded nor were flushed
};

class Recorder final : public wire::Device {
  public:
    explicit Recorder(std::unique_ptr<wire::Device> device) : device_(std::move(device)) {}

    [[nodiscard]] Notes& notes() noexcept { return notes_; }
    [[nodiscard]] wire::Device& inner() noexcept { return *device_; }

    const wire::Capabilities& capabilities() const override { return device_->capabilities(); }
    const wire::Accounting& accounting() const override { return device_->accounting(); }
    std::string describe() const override { return device_->describe(); }
    std::unique_ptr<wire::CompletionQueue> create_completion_queue(std::uint32_t depth) override;
    std::unique_ptr<wire::QueuePair> create_queue_pair(const wire::QueuePairOptions& options) override;
    std::unique_ptr<wire::MemoryRegion> register_memory(std::span<std::byte> memory, Access access) override {
        return device_->register_memory(memory, access);
    }
    std::size_t poll_async(std::span<wire::AsyncEvent> out) override { return device_->poll_async(out); }

  private:
    std::unique_ptr<wire::Device> device_;
    Notes notes_;
};

} // namespace verbena::lab
