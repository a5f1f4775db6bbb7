/// @file
/// The collectives of one group: what the public Group stands on.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "coll/arguments.hpp"
#include "coll/executor.hpp"
#include "coll/plan_cache.hpp"
#include "coll/plan_file.hpp"
#include "coll/referee.hpp"
#include "coll/team.hpp"
#include "msg/engine.hpp"

namespace verbena::coll {

/// A call whose arguments are checked and whose plan is made.
struct Prepared {
    Call call;
    CallRecord record;
    std::shared_ptr<const Schedule> schedule;
};

/// Every rank of the group makes the same calls in the same order; several may run at once. The engine outlives it, and
/// may end running collectives after it is gone. Progress-thread only.
///
/// A group that fails is over: a rank is gone, calls differ, a rank never came. Every call of it, running or later,
/// then ends with the same status on every rank, and failure() says why.
class Collectives {
  public:
    using Time = Referee::Time;

    /// `context` is this group's alone on each of its ranks, and below notice_context_bit. `limit`: how long a call may
    /// go without a step before ranks that have not made it are named, and the group ends.
    Collectives(msg::Engine& engine, msg::Context context, Members members, Time limit = default_limit);
    /// Of all ranks of the engine.
    Collectives(msg::Engine& engine, msg::Context context);

    /// Starts one. @throws Error as check_arguments() and algorithm_named() do, and where scratch cannot be had;
    /// nothing was sent then.
    [[nodiscard]] msg::OperationId start(const Request& request);

    /// The same in two steps, the first of which may serve many calls with the same arguments. Lists of counts and a
    /// user's reduction are copied.
    [[nodiscard]] Prepared prepare(const Request& request);
    [[nodiscard]] msg::OperationId start_prepared(const Prepared& prepared);

    /// Takes a plan in, whose name is then an algorithm's. @throws Error (invalid_argument) as read_plan(), and for
    /// another number of ranks or a name that is taken
    std::string add_plan(std::string_view text);

    /// To be called now and then, or nothing that is wrong is found. Time is handed in.
    void tick(Time now) { referee_.tick(now); }
    /// A rank of the job is gone; nothing happens when it is not in the group.
    void lose(std::uint32_t job_rank, const Status& status, const std::string& reason);

    [[nodiscard]] const Members& members() const noexcept { return team_->members; }
    [[nodiscard]] msg::Context context() const noexcept { return team_->context; }
    [[nodiscard]] bool is_over() const noexcept { return team_->failure.has_value(); }
    [[nodiscard]] bool is_idle() const noexcept { return team_->running.empty(); }
    /// Why the group is over; empty while it is not.
    [[nodiscard]] const std::string& failure() const noexcept { return team_->sentence; }

    static constexpr Time default_limit = std::chrono::seconds(45);

  private:
    [[nodiscard]] const NamedPlan* plan_named(std::string_view name) const noexcept;

    msg::Engine& engine_;
    std::shared_ptr<Team> team_; ///< shared with running tasks, which may outlive the group
    Referee referee_;
    PlanCache plans_;
    std::vector<std::unique_ptr<NamedPlan>> users_plans_; ///< addresses stay: they are keys of plans_
};

} // namespace verbena::coll
