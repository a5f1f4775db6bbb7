/// @file
/// Who is the odd one: what the ranks of a group say about one call, and what follows from it. A value; no I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <verbena/error.hpp>

#include "coll/call_record.hpp"

namespace verbena::coll {

/// What one rank says about the call by a certain number.
struct Statement {
    bool has_called = false;
    bool is_forgotten = false; ///< called so long ago that the rank no longer knows what
    std::uint32_t next = 0;    ///< the number of its next call
    CallRecord record{};
};

/// How a group ends.
struct Finding {
    ErrorCode code = ErrorCode::ok;
    std::uint32_t rank = 0; ///< of the group: the odd one, the first where there are several
    std::string sentence;
};

class Inquiry {
  public:
    Inquiry(std::uint32_t ranks, std::uint32_t sequence) : sequence_(sequence), statements_(ranks) {}

    void hear(std::uint32_t rank, const Statement& statement) { statements_[rank] = statement; }
    [[nodiscard]] std::uint32_t sequence() const noexcept { return sequence_; }
    /// Every rank has made the call.
    [[nodiscard]] bool all_have_called() const noexcept;

    /// The calls differ: the ranks in the minority are the odd ones; with no majority those that differ from the lowest
    /// rank. Told when all have called, or when `time_is_up`.
    /// Otherwise, when time is up, the ranks that have not called or do not answer. Nothing: all is well so far.
    [[nodiscard]] std::optional<Finding> conclude(bool time_is_up) const;

  private:
    [[nodiscard]] std::optional<Finding> differing() const;
    [[nodiscard]] std::optional<Finding> absent() const;

    std::uint32_t sequence_;
    std::vector<std::optional<Statement>> statements_; ///< by rank of the group
};

} // namespace verbena::coll
