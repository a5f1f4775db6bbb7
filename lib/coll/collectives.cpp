#include "coll/collectives.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <verbena/error.hpp>

#include "coll/executor.hpp"
#include "coll/extent.hpp"
#include "coll/selection.hpp"

namespace verbena::coll {
namespace {

std::uint32_t digest_of(std::span<const std::uint64_t> counts) {
    std::uint64_t hash = counts.size();
    for (const std::uint64_t count : counts) hash = (hash ^ count) * 0x9e3779b97f4a7c15U;
    return static_cast<std::uint32_t>(hash >> 32);
}

CallRecord record_of(const Request& request) {
    CallRecord record;
    record.collective = static_cast<std::uint8_t>(request.collective);
    record.type = static_cast<std::uint8_t>(request.type);
    if (is_reduction(request.collective)) record.op = static_cast<std::uint8_t>(request.op);
    if (request.reduction != nullptr) {
        record.op = users_reduction;
        record.type = static_cast<std::uint8_t>(request.reduction->element_bytes);
    }
    record.root = request.root;
    if (takes_counts(request.collective)) {
        // Of an all-to-all each rank has lists of its own, which only lengths of messages can compare.
        if (request.collective != Collective::all_to_all_v) record.digest = digest_of(request.counts);
    } else {
        record.count = request.count;
    }
    return record;
}

} // namespace

Collectives::Collectives(msg::Engine& engine, msg::Context context, Members members, Time limit)
    : engine_(engine), team_(std::make_shared<Team>(std::move(members), context)), referee_(engine, team_, limit) {}

Collectives::Collectives(msg::Engine& engine, msg::Context context)
    : Collectives(engine, context, Members::whole_job(engine.rank(), engine.size())) {}

void Collectives::lose(std::uint32_t job_rank, const Status& status, const std::string& reason) {
    const std::optional<std::uint32_t> rank = team_->members.rank_of(job_rank);
    if (rank) team_->fail(status, fmt::format("rank {} is lost: {}", *rank, reason));
}

msg::OperationId Collectives::start(const Request& request) { return start_prepared(prepare(request)); }

Prepared Collectives::prepare(const Request& request) {
    const Members& members = team_->members;
    const std::uint32_t ranks = members.size();
    Prepared prepared;
    Call& call = prepared.call;
    call.place = check_arguments(engine_.spaces(), request, members.own(), ranks);
    Shape shape = shape_of(request, members.own(), ranks);
    call.input = static_cast<const std::byte*>(request.input);
    call.output = static_cast<std::byte*>(request.output);
    call.output_count = extent_of(request.collective, shape).output;
    call.type = request.type;
    call.element_size = element_size(request);
    if (is_reduction(request.collective)) call.op = request.op;
    if (request.reduction != nullptr) {
        call.op = ReduceOp::sum; // nothing is divided at the end
        call.reduction = *request.reduction;
    }
    prepared.record = record_of(request);
    if (const NamedPlan* plan = plan_named(request.algorithm)) {
        if (plan->collective != request.collective || plan->plan.root != request.root) {
            throw Error(ErrorCode::invalid_argument, fmt::format("the plan \"{}\" is for {} with root {}", plan->name,
                                                                 name(plan->collective), plan->plan.root));
        }
        prepared.record.algorithm = users_plan;
        prepared.record.digest = plan->digest;
        prepared.schedule = plans_.get(reinterpret_cast<std::uintptr_t>(plan), request.count,
                                       [&] { return scaled(*plan, members.own(), request.count); });
    } else {
        // By what every rank knows: where each has lists of its own that is only how many there are.
        const std::size_t bytes =
            request.collective == Collective::all_to_all_v ? std::size_t{0} : longer_buffer(request, ranks);
        const Algorithm* const algorithm = request.algorithm.empty()
                                               ? &cheapest(request.collective, ranks, bytes)
                                               : &algorithm_named(request.collective, request.algorithm, ranks);
        shape.segment = segment_bytes(*algorithm, ranks, bytes) / call.element_size;
        prepared.record.segment = shape.segment;
        prepared.record.algorithm = static_cast<std::uint32_t>(algorithm - algorithms().data());
        prepared.schedule = plans_.get(algorithm->plan, shape);
    }
    call.fingerprint = fingerprint_of(prepared.record);
    return prepared;
}

msg::OperationId Collectives::start_prepared(const Prepared& prepared) {
    Call call = prepared.call;
    call.sequence = team_->calls.next();
    auto task = std::make_unique<PlanTask>(engine_, call, prepared.schedule, team_);
    if (const std::optional<Contradiction> found = team_->calls.note_call(prepared.record, call.fingerprint))
        referee_.note(*found);
    return engine_.start(std::move(task));
}

std::string Collectives::add_plan(std::string_view text) {
    auto plan = std::make_unique<NamedPlan>(read_plan(text));
    const std::size_t ranks = plan->plan.ranks.size();
    if (ranks != team_->members.size()) {
        throw Error(ErrorCode::invalid_argument, fmt::format("the plan \"{}\" is for {} ranks, this group has {}",
                                                             plan->name, ranks, team_->members.size()));
    }
    const std::vector<std::string> names = algorithm_names(plan->collective);
    if (plan_named(plan->name) != nullptr || std::ranges::find(names, plan->name) != names.end()) {
        throw Error(ErrorCode::invalid_argument, fmt::format("the name \"{}\" is taken", plan->name));
    }
    return users_plans_.emplace_back(std::move(plan))->name;
}

const NamedPlan* Collectives::plan_named(std::string_view name) const noexcept {
    for (const auto& plan : users_plans_) {
        if (plan->name == name) return plan.get();
    }
    return nullptr;
}

} // namespace verbena::coll
