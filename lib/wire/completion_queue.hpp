#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/types.hpp"

namespace verbena::wire {

/// Where completions go. Made by a Device, which outlives it. Progress-thread only.
class CompletionQueue {
  public:
    virtual ~CompletionQueue() = default;

    /// Fills the front of `out`; returns how many. Never blocks or allocates. Hot path.
    virtual std::size_t poll(std::span<Completion> out) = 0;

    /// Entries granted, read back from the provider.
    [[nodiscard]] virtual std::uint32_t capacity() const = 0;

    /// A descriptor that becomes readable at the next completion after arm(); -1 where the backend has none.
    [[nodiscard]] virtual int event_fd() const = 0;

    /// Asks for one event. The caller polls once more after arming, or it may sleep on what had already arrived.
    virtual void arm() = 0;
};

} // namespace verbena::wire
