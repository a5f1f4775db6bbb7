/// @file
/// Runs one rank's part of a plan over the message engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <verbena/group.hpp>

#include "coll/schedule.hpp"
#include "coll/team.hpp"
#include "coll/workspace.hpp"
#include "msg/engine.hpp"

namespace verbena::coll {

/// One call of a collective, arguments checked.
struct Call {
    const std::byte* input = nullptr; ///< the caller's until the end
    std::byte* output = nullptr;
    std::size_t output_count = 0; ///< elements of this rank's output
    DataType type = DataType::u8;
    ReduceOp op = ReduceOp::sum;
    std::size_t element_size = 1;
    UserReduction reduction{}; ///< instead of `op`, where it has a function
    Place place{};
    std::uint32_t sequence = 0;    ///< of the group, equal on every rank: keeps one call's messages from another's
    std::uint32_t fingerprint = 0; ///< keeps a call's messages from those of one that differs (call_record.hpp)
};

/// Peers are ranks of the group. Ends with the group's failure as soon as there is one; its own failure ends the group.
///
/// Every step starts as soon as the plan lets it, so independent steps overlap. After the first failure it takes back
/// what nobody has begun, waits for receives that are being filled, and ends: nothing writes to the caller's memory any
/// more. Sends that a peer has been told of only read; they go with their scratch memory to the pool. Progress-thread
/// only.
class PlanTask final : public msg::Task {
  public:
    /// `schedule` is shared with the group's plan cache, which may drop it while this runs; `team` because an engine
    /// may end its tasks after the group is gone. @throws Error where scratch cannot be had
    PlanTask(msg::Engine& engine, const Call& call, std::shared_ptr<const Schedule> schedule,
             std::shared_ptr<Team> team);
    ~PlanTask() override;

    std::optional<Status> advance(msg::Engine& engine) override;
    /// Only where `status.source` is a rank of the group.
    void fail(const Status& status) override;

  private:
    void start_what_can(msg::Engine& engine);
    bool start_message(msg::Engine& engine, std::uint32_t index);
    bool collect(msg::Engine& engine);
    bool receives_have_ended(msg::Engine& engine);
    void compute(const Step& step);
    void finish_average();
    [[nodiscard]] std::byte* address(const Range& range) const noexcept;
    [[nodiscard]] std::size_t size_of(const Range& range) const noexcept;

    Call call_;
    std::size_t element_size_;
    std::shared_ptr<const Schedule> schedule_;
    std::shared_ptr<Team> team_;
    Running running_;                      ///< in the team's list until this has ended
    std::unique_ptr<Workspace> workspace_; ///< none once ended
    std::optional<Status> failure_;
};

} // namespace verbena::coll
