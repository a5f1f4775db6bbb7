#include "coll/schedule.hpp"

#include <map>
#include <utility>

#include <fmt/format.h>

#include <verbena/error.hpp>

#include "coll/call_record.hpp"

namespace verbena::coll {

Schedule::Schedule(RankPlan plan)
    : plan_(std::move(plan)),
      waits_(plan_.steps.size()),
      first_dependent_(plan_.steps.size() + 1),
      follower_(plan_.steps.size(), no_step),
      message_number_(plan_.steps.size()) {
    for (std::uint32_t index = 0; index < size(); ++index) {
        waits_[index] = static_cast<std::uint32_t>(step(index).after.size());
    }
    number_messages();
    list_dependents();
}

void Schedule::number_messages() {
    struct Lane {
        std::uint32_t last = no_step;
        std::uint32_t messages = 0;
    };
    std::map<std::pair<std::uint32_t, bool>, Lane> lanes; // by peer and direction
    for (std::uint32_t index = 0; index < size(); ++index) {
        if (!is_message(step(index).kind)) continue;
        Lane& lane = lanes[{step(index).peer, is_receive(step(index).kind)}];
        message_number_[index] = lane.messages++;
        if (lane.messages > max_messages_per_pair) {
            throw Error(
                ErrorCode::exhausted,
                fmt::format("a plan sends more than {} messages from one rank to another", max_messages_per_pair),
                "use longer segments");
        }
        if (lane.last != no_step) {
            follower_[lane.last] = index;
            ++waits_[index];
        }
        lane.last = index;
    }
}

void Schedule::list_dependents() {
    for (const Step& step : plan_.steps) {
        for (const std::uint32_t earlier : step.after) ++first_dependent_[earlier + 1];
    }
    for (std::uint32_t index = 0; index < size(); ++index) first_dependent_[index + 1] += first_dependent_[index];
    dependents_.resize(first_dependent_.back());
    std::vector<std::uint32_t> place(first_dependent_.begin(), first_dependent_.end() - 1);
    for (std::uint32_t index = 0; index < size(); ++index) {
        for (const std::uint32_t earlier : step(index).after) dependents_[place[earlier]++] = index;
    }
}

void Frontier::restart(const Schedule& schedule) {
    waits_.assign(schedule.waits().begin(), schedule.waits().end());
    state_.assign(schedule.size(), State::waiting);
    ready_.clear();
    ready_.reserve(schedule.size());
    head_ = 0;
    finished_ = 0;
    for (std::uint32_t index = 0; index < schedule.size(); ++index) {
        if (waits_[index] == 0) ready_.push_back(index);
    }
}

void Frontier::started(const Schedule& schedule) {
    const std::uint32_t index = ready_[head_++];
    state_[index] = State::started;
    if (const std::uint32_t follower = schedule.follower(index); follower != no_step) clear_one(follower);
}

void Frontier::finished(const Schedule& schedule, std::uint32_t index) {
    state_[index] = State::finished;
    ++finished_;
    for (const std::uint32_t dependent : schedule.dependents(index)) clear_one(dependent);
}

void Frontier::clear_one(std::uint32_t index) {
    if (--waits_[index] == 0) ready_.push_back(index);
}

} // namespace verbena::coll
