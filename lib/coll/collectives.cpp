#include "coll/collectives.hpp"

#include <utility>

#include <fmt/format.h>

#include "coll/executor.hpp"
#include "coll/extent.hpp"
#include "coll/selection.hpp"

namespace verbena::coll {
namespace {

CallRecord record_of(const Request& request, const Algorithm& algorithm, std::size_t segment) {
    CallRecord record;
    record.collective = static_cast<std::uint8_t>(request.collective);
    record.type = static_cast<std::uint8_t>(request.type);
    if (is_reduction(request.collective)) record.op = static_cast<std::uint8_t>(request.op);
    record.root = request.root;
    record.count = request.count;
    record.segment = segment;
    record.algorithm = static_cast<std::uint32_t>(&algorithm - algorithms().data());
    return record;
}

} // namespace

Collectives::Collectives(msg::Engine& engine, msg::Context context, Members members, Time limit)
    : engine_(engine),
      team_(std::make_shared<Team>(std::move(members), context)),
      referee_(engine, team_, limit),
      plans_(team_->members.own(), team_->members.size()) {}

Collectives::Collectives(msg::Engine& engine, msg::Context context)
    : Collectives(engine, context, Members::whole_job(engine.rank(), engine.size())) {}

void Collectives::lose(std::uint32_t job_rank, const Status& status, const std::string& reason) {
    const std::optional<std::uint32_t> rank = team_->members.rank_of(job_rank);
    if (rank) team_->fail(status, fmt::format("rank {} is gone: {}", *rank, reason));
}

msg::OperationId Collectives::start(const Request& request) {
    const Members& members = team_->members;
    const std::uint32_t ranks = members.size();
    Call call;
    call.place = check_arguments(engine_.spaces(), request, members.own(), ranks);
    const Shape shape{members.own(), ranks, request.count, 0, request.root};
    call.input = static_cast<const std::byte*>(request.input);
    call.output = static_cast<std::byte*>(request.output);
    call.output_count = extent_of(request.collective, shape).output;
    call.type = request.type;
    if (is_reduction(request.collective)) call.op = request.op;
    const std::size_t bytes = longer_buffer(request, ranks);
    const Algorithm& algorithm = request.algorithm.empty()
                                     ? cheapest(request.collective, ranks, bytes)
                                     : algorithm_named(request.collective, request.algorithm, ranks);
    const std::size_t segment = segment_bytes(algorithm, ranks, bytes) / size_of(request.type);
    const CallRecord record = record_of(request, algorithm, segment);
    call.sequence = team_->calls.next();
    call.fingerprint = fingerprint_of(record);
    auto task = std::make_unique<PlanTask>(engine_, call,
                                           plans_.get(algorithm.plan, request.count, segment, request.root), team_);
    if (const std::optional<Contradiction> found = team_->calls.note_call(record, call.fingerprint))
        referee_.note(*found);
    return engine_.start(std::move(task));
}

} // namespace verbena::coll
