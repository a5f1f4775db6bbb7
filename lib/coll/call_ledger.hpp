/// @file
/// A group's latest calls, ours and what messages told of the others'. A value; the steady state allocates nothing.
/// Progress-thread only.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "coll/call_record.hpp"

namespace verbena::coll {

/// A message of a call that is not ours.
struct Contradiction {
    std::uint32_t sequence = 0;
    std::uint32_t job_rank = 0; ///< whose message it was
};

class CallLedger {
  public:
    /// Ours: the next one. A contradiction where a message of another call by this number came before.
    std::optional<Contradiction> note_call(const CallRecord& record, std::uint32_t fingerprint) noexcept {
        Call& call = calls_[next_ % calls_.size()];
        call = {record, next_, fingerprint, true};
        const Early& early = early_[next_ % early_.size()];
        const bool is_odd = early.is_used && early.sequence == next_ && early.fingerprint != fingerprint;
        next_ = next_sequence(next_);
        if (is_odd) return Contradiction{early.sequence, early.job_rank};
        return std::nullopt;
    }

    /// A message that came before its receive. Of a call that we have not made yet the first is remembered, and one
    /// that differs from it.
    std::optional<Contradiction> note_early(std::uint32_t job_rank, Tag tag) noexcept {
        const std::uint32_t sequence = sequence_in(tag);
        const std::uint32_t fingerprint = fingerprint_in(tag);
        if (is_before(sequence, next_)) {
            const Call& call = calls_[sequence % calls_.size()];
            if (!call.is_used || call.sequence != sequence || call.fingerprint == fingerprint) return std::nullopt;
            return Contradiction{sequence, job_rank};
        }
        Early& early = early_[sequence % early_.size()];
        const bool is_free = !early.is_used || is_before(early.sequence, next_);
        if (is_free) early = {sequence, fingerprint, job_rank, true};
        return std::nullopt;
    }

    /// Nothing for a call that is not made yet, or was made too long ago.
    [[nodiscard]] const CallRecord* find(std::uint32_t sequence) const noexcept {
        const Call& call = calls_[sequence % calls_.size()];
        return call.is_used && call.sequence == sequence ? &call.record : nullptr;
    }
    [[nodiscard]] std::uint32_t next() const noexcept { return next_; }

  private:
    struct Call {
        CallRecord record;
        std::uint32_t sequence = 0;
        std::uint32_t fingerprint = 0;
        bool is_used = false;
    };
    struct Early {
        std::uint32_t sequence = 0;
        std::uint32_t fingerprint = 0;
        std::uint32_t job_rank = 0;
        bool is_used = false;
    };
    std::uint32_t next_ = 0;
    std::array<Call, 128> calls_{};
    std::array<Early, 128> early_{};
};

} // namespace verbena::coll
