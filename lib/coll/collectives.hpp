/// @file
/// The collectives of one group: what the public Group stands on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <verbena/group.hpp>

#include "coll/plan_cache.hpp"
#include "coll/workspace.hpp"
#include "msg/engine.hpp"

namespace verbena::coll {

struct Call;

/// All ranks of an engine. Every rank makes the same calls in the same order; several may run at once. The engine
/// outlives it, and may end running collectives after it is gone. Progress-thread only.
class Collectives {
  public:
    /// `context` is this group's alone.
    Collectives(msg::Engine& engine, msg::Context context);

    /// Starts one; an empty `algorithm` chooses by size. @throws Error as check_all_reduce() and all_reduce_named() do,
    /// and where scratch cannot be had; nothing was sent then.
    [[nodiscard]] msg::OperationId all_reduce(const void* input, void* output, std::size_t count, DataType type,
                                              ReduceOp op, std::string_view algorithm = {});
    [[nodiscard]] msg::OperationId barrier();

  private:
    msg::OperationId start(Call call, std::shared_ptr<const Schedule> schedule);

    msg::Engine& engine_;
    msg::Context context_;
    std::uint32_t sequence_ = 0; ///< of the next call; wraps, long after the messages of an equal one are gone
    PlanCache plans_;
    std::shared_ptr<WorkspacePool> workspaces_; ///< shared with running tasks, which may outlive the group
};

} // namespace verbena::coll
