/// @file
/// A rank's plan, made ready to run: who waits for how many, who waits for whom, and the number of each message.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "coll/plan.hpp"

namespace verbena::coll {

/// Immutable after construction; the plan's steps are kept inside. Shared by the executor and the interpreter, so that
/// what is proved is what is run.
class Schedule {
  public:
    /// Every index in `after` must be below its step's own, as the interpreter checks. @throws Error (exhausted) for
    /// more than max_messages_per_pair messages in one direction.
    explicit Schedule(RankPlan plan);

    [[nodiscard]] const RankPlan& plan() const noexcept { return plan_; }
    [[nodiscard]] const Step& step(std::uint32_t index) const noexcept { return plan_.steps[index]; }
    [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(plan_.steps.size()); }

    /// How many events each step waits for before it may start: finishes of other steps, and the start of the one
    /// before it of the same peer and direction.
    [[nodiscard]] const std::vector<std::uint32_t>& waits() const noexcept { return waits_; }
    /// The steps that wait for `index` to finish.
    [[nodiscard]] std::span<const std::uint32_t> dependents(std::uint32_t index) const noexcept {
        return {dependents_.data() + first_dependent_[index], first_dependent_[index + 1] - first_dependent_[index]};
    }
    /// The step that waits for `index` to start, or no_step.
    [[nodiscard]] std::uint32_t follower(std::uint32_t index) const noexcept { return follower_[index]; }
    /// The place of a message among those of its peer and direction, from 0: equal at both ends.
    [[nodiscard]] std::uint32_t message_number(std::uint32_t index) const noexcept { return message_number_[index]; }

  private:
    void number_messages();
    void list_dependents();

    RankPlan plan_;
    std::vector<std::uint32_t> waits_;
    std::vector<std::uint32_t> dependents_;
    std::vector<std::uint32_t> first_dependent_; ///< into dependents_, one more than steps
    std::vector<std::uint32_t> follower_;
    std::vector<std::uint32_t> message_number_;
};

/// One run over a schedule: which steps may start now. A value whose storage is kept from run to run.
class Frontier {
  public:
    void restart(const Schedule& schedule);

    /// The step to start next, or no_step. It stays the next until started() is told.
    [[nodiscard]] std::uint32_t next() const noexcept { return head_ < ready_.size() ? ready_[head_] : no_step; }
    /// The step that next() named has started.
    void started(const Schedule& schedule);
    void finished(const Schedule& schedule, std::uint32_t index);
    [[nodiscard]] bool is_done() const noexcept { return finished_ == waits_.size(); }
    [[nodiscard]] bool has_started(std::uint32_t index) const noexcept { return state_[index] != State::waiting; }
    [[nodiscard]] bool has_finished(std::uint32_t index) const noexcept { return state_[index] == State::finished; }

  private:
    enum class State : std::uint8_t { waiting, started, finished };

    void clear_one(std::uint32_t index);

    std::vector<std::uint32_t> waits_;
    std::vector<std::uint32_t> ready_; ///< in the order in which they became ready; never longer than the schedule
    std::vector<State> state_;
    std::size_t head_ = 0;
    std::size_t finished_ = 0;
};

} // namespace verbena::coll
