/// Hot path: one step of a running collective.
#include "coll/executor.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "coll/reduce.hpp"

namespace verbena::coll {

PlanTask::PlanTask(msg::Engine& engine, const Call& call, std::shared_ptr<const Schedule> schedule,
                   std::shared_ptr<Team> team)
    : call_(call),
      element_size_(call.element_size),
      schedule_(std::move(schedule)),
      team_(std::move(team)),
      running_{call.sequence, 0},
      workspace_(team_->workspaces.acquire(engine, call.place, schedule_->plan().scratch * element_size_)) {
    workspace_->frontier.restart(*schedule_);
    workspace_->flights.reserve(schedule_->size());
    team_->running.push_back(&running_);
}

PlanTask::~PlanTask() { team_->end(&running_); }

void PlanTask::fail(const Status& status) {
    const std::optional<std::uint32_t> lost = team_->members.rank_of(status.source);
    if (lost) team_->fail(status, fmt::format("rank {} is lost", *lost));
}

std::optional<Status> PlanTask::advance(msg::Engine& engine) {
    if (!failure_ && team_->failure) [[unlikely]]
        failure_ = team_->failure;
    try {
        while (!failure_) {
            start_what_can(engine);
            if (!collect(engine)) break;
        }
        if (!failure_ && !workspace_->frontier.is_done()) return std::nullopt;
        if (!failure_) finish_average();
    } catch (const Error& error) { // of a memory space
        failure_ = Status{error.code(), Scope::operation, engine.rank(), 0, 0, error.cause()};
    }
    if (failure_) [[unlikely]] {
        team_->fail(*failure_, fmt::format("call #{} failed on rank {}: {}", call_.sequence, team_->members.own(),
                                           verbena::describe(*failure_)));
        if (!receives_have_ended(engine)) return std::nullopt;
    }
    team_->end(&running_);
    if (workspace_->flights.empty()) {
        team_->workspaces.give_back(std::move(workspace_));
    } else {
        team_->workspaces.abandon(std::move(workspace_));
    }
    if (failure_) return failure_;
    return Status{ErrorCode::ok, Scope::operation, engine.rank(), 0, call_.output_count * element_size_, {}};
}

/// After a failure: takes back what nobody has begun. True once no receive can write into the caller's memory any more.
/// Sends that a peer has been told of are left to the workspace pool: they only read.
bool PlanTask::receives_have_ended(msg::Engine& engine) {
    std::vector<Flight>& flights = workspace_->flights;
    bool ended = true;
    for (std::size_t i = 0; i < flights.size();) {
        engine.cancel(flights[i].operation);
        if (engine.is_complete(flights[i].operation)) {
            engine.release(flights[i].operation);
            flights[i] = flights.back();
            flights.pop_back();
            continue;
        }
        if (is_receive(schedule_->step(flights[i].step).kind)) ended = false;
        ++i;
    }
    return ended;
}

void PlanTask::start_what_can(msg::Engine& engine) {
    Frontier& frontier = workspace_->frontier;
    while (frontier.next() != no_step) {
        const std::uint32_t index = frontier.next();
        const Step& step = schedule_->step(index);
        if (is_message(step.kind)) {
            if (!start_message(engine, index)) return;
            frontier.started(*schedule_);
        } else {
            frontier.started(*schedule_);
            compute(step);
            frontier.finished(*schedule_, index);
        }
    }
}

/// False when the engine has no room now; the step is tried again at the next advance.
bool PlanTask::start_message(msg::Engine& engine, std::uint32_t index) {
    const Step& step = schedule_->step(index);
    const Range& range = message_range(step);
    const Tag tag = call_tag(call_.sequence, call_.fingerprint, schedule_->message_number(index));
    const std::uint32_t peer = team_->members.job_rank(step.peer);
    const msg::OperationId id = step.kind == StepKind::send
                                    ? engine.send(peer, team_->context, tag, {address(range), size_of(range)})
                                    : engine.receive(peer, team_->context, tag, {address(range), size_of(range)});
    if (engine.is_complete(id) && engine.status(id).code == ErrorCode::would_block) {
        engine.release(id);
        return false;
    }
    workspace_->flights.push_back({index, id});
    return true;
}

/// Takes in what has completed; true when something has.
bool PlanTask::collect(msg::Engine& engine) {
    std::vector<Flight>& flights = workspace_->flights;
    bool any = false;
    for (std::size_t i = 0; i < flights.size();) {
        const Flight flight = flights[i];
        if (!engine.is_complete(flight.operation)) {
            ++i;
            continue;
        }
        any = true;
        const Status status = engine.status(flight.operation);
        engine.release(flight.operation);
        flights[i] = flights.back();
        flights.pop_back();
        const Step& step = schedule_->step(flight.step);
        const bool is_cut = status.code == ErrorCode::truncated;
        if (is_cut || (status.ok() && is_receive(step.kind) && status.bytes != size_of(message_range(step))))
            [[unlikely]] { // the step does not finish: the referee finds out whose call is wrong
            if (is_receive(step.kind) && !team_->wrong_length) {
                team_->wrong_length = {call_.sequence, team_->members.job_rank(step.peer), size_of(message_range(step)),
                                       status.bytes};
            }
            continue;
        }
        if (!status.ok()) {
            failure_ = status;
            return true;
        }
        if (step.kind == StepKind::receive_reduce) compute(step);
        ++running_.steps_finished;
        workspace_->frontier.finished(*schedule_, flight.step);
    }
    return any;
}

void PlanTask::compute(const Step& step) {
    std::byte* target = address(step.target);
    const std::byte* left = address(step.left);
    if (step.kind == StepKind::copy) {
        if (target != left) call_.place.space->copy(target, left, size_of(step.target));
        return;
    }
    if (call_.reduction.combine != nullptr) {
        call_.reduction.combine(left, address(step.right), target, step.target.count, call_.reduction.context);
        return;
    }
    const std::array<const std::byte*, 2> inputs = {left, address(step.right)};
    if (call_.place.space->is_host_accessible()) {
        reduce(call_.type, combining(call_.op), target, inputs, step.target.count);
    } else {
        call_.place.space->reduce(call_.type, combining(call_.op), target, inputs, step.target.count);
    }
}

void PlanTask::finish_average() {
    if (call_.op != ReduceOp::avg) return;
    mem::Space& space = *call_.place.space;
    const std::uint32_t ranks = team_->members.size();
    if (space.is_host_accessible()) return finish(call_.type, call_.op, call_.output, call_.output_count, ranks);
    space.divide(call_.type, call_.output, call_.output_count, ranks);
}

std::byte* PlanTask::address(const Range& range) const noexcept {
    const std::size_t offset = range.offset * element_size_;
    switch (range.buffer) {
    case Buffer::input:
        return const_cast<std::byte*>(call_.input) + offset; // a plan never writes there
    case Buffer::output:
        return call_.output + offset;
    case Buffer::scratch:
        break;
    }
    return workspace_->scratch.data() + offset;
}

std::size_t PlanTask::size_of(const Range& range) const noexcept { return range.count * element_size_; }

} // namespace verbena::coll
