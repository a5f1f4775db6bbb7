/// @file
/// Who holds a send-queue slot, and until when. A value: no clock, no I/O, no allocation. One caller at a time.
///
/// Why it exists. A provider that frees slots only when a completion is polled (wire::Retirement::through_completion)
/// refuses a post with ENOMEM although the peer received everything long ago: nobody had asked for a completion, so
/// nothing could be polled, so no slot came back. The rules here make that impossible:
///
///   posted - retired <= capacity          capacity is what the provider granted, read back
///   any `interval` consecutive posts hold a signaled one, and interval <= capacity
///
/// so a full queue always contains a signaled request, whose completion frees it and everything older.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>

#include "wire/capabilities.hpp"

namespace verbena::flow {

/// Position of a request in its send queue, counted from 0 and never reused.
using Sequence = std::uint64_t;

class SendQueueLedger {
  public:
    /// Longest run that ends in a signaled request; as UCX's, chosen so that polling costs little and buffers held by
    /// unsignaled requests stay few.
    static constexpr std::uint32_t max_interval = 64;

    SendQueueLedger(std::uint32_t capacity, wire::Retirement retirement) noexcept
        : capacity_(capacity), interval_(interval_for(capacity, retirement)) {
        assert(capacity > 0);
    }

    [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }
    [[nodiscard]] std::uint32_t interval() const noexcept { return interval_; }
    [[nodiscard]] std::uint32_t in_flight() const noexcept { return static_cast<std::uint32_t>(posted_ - retired_); }
    [[nodiscard]] std::uint32_t available() const noexcept { return capacity_ - in_flight(); }
    [[nodiscard]] Sequence next() const noexcept { return posted_; }

    /// The next request must be signaled, whatever its sender wants.
    [[nodiscard]] bool must_signal_next() const noexcept { return unsignaled_run_ + 1 >= interval_; }

    /// Requests at the tail that no completion will report unless a later request is signaled.
    [[nodiscard]] std::uint32_t unsignaled_tail() const noexcept { return std::min(unsignaled_run_, in_flight()); }

    /// Takes a slot. Needs available() > 0, and `signaled` where must_signal_next().
    Sequence post(bool signaled) noexcept {
        assert(available() > 0 && (signaled || !must_signal_next()));
        unsignaled_run_ = signaled ? 0 : unsignaled_run_ + 1;
        return posted_++;
    }

    /// A completion of request `through` frees it and all older ones. Returns how many became free; 0 for one that was
    /// already free (an error completion of an unsignaled request after a later signaled one, say).
    std::uint32_t retire_through(Sequence through) noexcept {
        if (through < retired_) return 0;
        assert(through < posted_);
        const auto freed = static_cast<std::uint32_t>(through + 1 - retired_);
        retired_ = through + 1;
        return freed;
    }

    /// One request completed by itself (wire::Retirement::each_completion).
    void retire_one() noexcept {
        assert(in_flight() > 0);
        ++retired_;
    }

  private:
    static std::uint32_t interval_for(std::uint32_t capacity, wire::Retirement retirement) noexcept {
        if (retirement == wire::Retirement::each_completion) return 1;
        return std::clamp(capacity / 2, 1u, max_interval);
    }

    std::uint32_t capacity_;
    std::uint32_t interval_;
    std::uint32_t unsignaled_run_ = 0;
    Sequence posted_ = 0;
    Sequence retired_ = 0;
};

} // namespace verbena::flow
