/// @file
/// What the calls of one group share, and running ones keep alive.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coll/call_ledger.hpp"
#include "coll/members.hpp"
#include "coll/workspace.hpp"

namespace verbena::coll {

/// What the group watches of a running call.
struct Running {
    std::uint32_t sequence = 0;
    std::uint64_t steps_finished = 0;
};

/// A message whose length did not fit its receive, though the calls' fingerprints are equal.
struct WrongLength {
    std::uint32_t sequence = 0;
    std::uint32_t job_rank = 0; ///< who sent it
    std::uint64_t expected = 0; ///< bytes
    std::uint64_t got = 0;      ///< at most: what is beyond the buffer is not counted
};

/// Progress-thread only. Shared by the group and by its tasks, which an engine may end after the group is gone.
struct Team {
    Team(Members ranks, msg::Context own_context) : members(std::move(ranks)), context(own_context) {}

    Members members;
    msg::Context context;
    CallLedger calls;
    WorkspacePool workspaces;
    std::vector<Running*> running; ///< each owned by its task
    std::optional<Status> failure; ///< the first: the group is over, and every call of it ends with this
    std::string sentence;          ///< of the failure
    std::optional<WrongLength> wrong_length;

    /// Ends the group, unless it has ended.
    void fail(const Status& status, std::string why) {
        if (failure) return;
        failure = status;
        sentence = std::move(why);
    }
    void end(const Running* call) noexcept { std::erase(running, call); }
};

/// Contexts of groups lie below; a group's notices have its context with this bit.
inline constexpr msg::Context notice_context_bit = 0x8000;

} // namespace verbena::coll
