#include "coll/collectives.hpp"

#include <utility>

#include "coll/executor.hpp"
#include "coll/extent.hpp"
#include "coll/selection.hpp"

namespace verbena::coll {

Collectives::Collectives(msg::Engine& engine, msg::Context context)
    : engine_(engine),
      context_(context),
      plans_(engine.rank(), engine.size()),
      workspaces_(std::make_shared<WorkspacePool>()) {}

msg::OperationId Collectives::start(const Request& request) {
    Call call;
    call.place = check_arguments(engine_.spaces(), request, engine_.rank(), engine_.size());
    const Shape shape{engine_.rank(), engine_.size(), request.count, 0, request.root};
    call.input = static_cast<const std::byte*>(request.input);
    call.output = static_cast<std::byte*>(request.output);
    call.output_count = extent_of(request.collective, shape).output;
    call.type = request.type;
    if (is_reduction(request.collective)) call.op = request.op;
    call.context = context_;
    call.sequence = sequence_;
    const std::size_t bytes = longer_buffer(request, engine_.size());
    const Algorithm& algorithm = request.algorithm.empty()
                                     ? cheapest(request.collective, engine_.size(), bytes)
                                     : algorithm_named(request.collective, request.algorithm, engine_.size());
    const std::size_t segment = segment_bytes(algorithm, engine_.size(), bytes) / size_of(request.type);
    auto task = std::make_unique<PlanTask>(
        engine_, call, plans_.get(algorithm.plan, request.count, segment, request.root), workspaces_);
    ++sequence_;
    return engine_.start(std::move(task));
}

} // namespace verbena::coll
