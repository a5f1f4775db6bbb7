#include "catch.hpp"

#include <vector>

#include "coll/schedule.hpp"

using namespace verbena::coll;

namespace {

std::uint32_t start(Frontier& frontier, const Schedule& schedule) {
    const std::uint32_t index = frontier.next();
    if (index != no_step) frontier.started(schedule);
    return index;
}

} // namespace

TEST_CASE("messages to one peer start in list order, even when a later one has nothing to wait for") {
    RankPlan plan;
    const Range element{Buffer::input, 0, 1};
    const std::uint32_t receive = plan.add({StepKind::receive, 1, {Buffer::output, 0, 1}, {}, {}, {}});
    const std::uint32_t waiting = plan.add({StepKind::send, 1, {}, element, {}, {receive}});
    const std::uint32_t behind = plan.add({StepKind::send, 1, {}, element, {}, {}});
    const std::uint32_t elsewhere = plan.add({StepKind::send, 2, {}, element, {}, {}});
    const Schedule schedule(plan);
    CHECK(schedule.message_number(waiting) == 0);
    CHECK(schedule.message_number(behind) == 1);
    CHECK(schedule.message_number(elsewhere) == 0);
    CHECK(schedule.message_number(receive) == 0);

    Frontier frontier;
    frontier.restart(schedule);
    CHECK(start(frontier, schedule) == receive);
    CHECK(start(frontier, schedule) == elsewhere);
    CHECK(start(frontier, schedule) == no_step);
    frontier.finished(schedule, receive);
    CHECK(start(frontier, schedule) == waiting);
    CHECK(start(frontier, schedule) == behind); // the one before it has started, which is enough
    for (const std::uint32_t index : {behind, elsewhere}) frontier.finished(schedule, index);
    CHECK_FALSE(frontier.is_done());
    frontier.finished(schedule, waiting);
    CHECK(frontier.is_done());
}

TEST_CASE("a step waits for every step that it names") {
    RankPlan plan;
    const Range element{Buffer::output, 0, 1};
    const std::uint32_t first = plan.add({StepKind::receive, 1, element, {}, {}, {}});
    const std::uint32_t second = plan.add({StepKind::receive, 2, element, {}, {}, {no_step}});
    const std::uint32_t last = plan.add({StepKind::copy, 0, element, element, {}, {first, no_step, second}});
    const Schedule schedule(plan);
    Frontier frontier;
    for (int run = 0; run < 2; ++run) { // storage is kept from run to run
        frontier.restart(schedule);
        CHECK(start(frontier, schedule) == first);
        CHECK(start(frontier, schedule) == second);
        frontier.finished(schedule, second);
        CHECK(frontier.next() == no_step);
        frontier.finished(schedule, first);
        CHECK(frontier.next() == last);
    }
}
