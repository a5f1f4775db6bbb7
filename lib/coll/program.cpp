#include "coll/program.hpp"

#include <utility>

namespace verbena::coll {

Program program_of(RankPlan plan, std::uint32_t rank, std::uint32_t ranks) {
    const Schedule schedule(std::move(plan));
    Program program;
    program.steps.reserve(schedule.size());
    for (std::uint32_t index = 0; index < schedule.size(); ++index) {
        const Step& step = schedule.step(index);
        Program::Step& made = program.steps.emplace_back();
        made.kind = step.kind;
        made.waits = schedule.waits()[index];
        made.follower = schedule.follower(index);
        made.first_dependent = static_cast<std::uint32_t>(program.dependents.size());
        for (const std::uint32_t dependent : schedule.dependents(index)) program.dependents.push_back(dependent);
        if (is_message(step.kind)) {
            made.peer = (step.peer + ranks - rank) % ranks;
            made.number = schedule.message_number(index);
            made.count = message_range(step).count;
        } else {
            made.count = step.target.count;
        }
    }
    return program;
}

} // namespace verbena::coll
