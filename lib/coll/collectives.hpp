/// @file
/// The collectives of one group: what the public Group stands on.
#pragma once

#include <cstdint>
#include <memory>

#include "coll/arguments.hpp"
#include "coll/plan_cache.hpp"
#include "coll/workspace.hpp"
#include "msg/engine.hpp"

namespace verbena::coll {

/// All ranks of an engine. Every rank makes the same calls in the same order; several may run at once. The engine
/// outlives it, and may end running collectives after it is gone. Progress-thread only.
class Collectives {
  public:
    /// `context` is this group's alone.
    Collectives(msg::Engine& engine, msg::Context context);

    /// Starts one. @throws Error as check_arguments() and algorithm_named() do, and where scratch cannot be had;
    /// nothing was sent then.
    [[nodiscard]] msg::OperationId start(const Request& request);

  private:
    msg::Engine& engine_;
    msg::Context context_;
    std::uint32_t sequence_ = 0; ///< of the next call; wraps, long after the messages of an equal one are gone
    PlanCache plans_;
    std::shared_ptr<WorkspacePool> workspaces_; ///< shared with running tasks, which may outlive the group
};

} // namespace verbena::coll
