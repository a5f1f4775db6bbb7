#include "coll/collectives.hpp"

#include <utility>

#include "coll/arguments.hpp"
#include "coll/executor.hpp"
#include "coll/selection.hpp"

namespace verbena::coll {

Collectives::Collectives(msg::Engine& engine, msg::Context context)
    : engine_(engine),
      context_(context),
      plans_(engine.rank(), engine.size()),
      workspaces_(std::make_shared<WorkspacePool>()) {}

msg::OperationId Collectives::all_reduce(const void* input, void* output, std::size_t count, DataType type, ReduceOp op,
                                         std::string_view algorithm) {
    Call call;
    call.place = check_all_reduce(engine_.spaces(), input, output, count, type, op);
    call.input = static_cast<const std::byte*>(input);
    call.output = static_cast<std::byte*>(output);
    call.count = count;
    call.type = type;
    call.op = op;
    const std::size_t bytes = count * size_of(type);
    const Algorithm* chosen =
        algorithm.empty() ? &cheapest_all_reduce(engine_.size(), bytes) : &all_reduce_named(algorithm);
    return start(call, plans_.all_reduce(*chosen, count, segment_bytes(engine_.size(), bytes) / size_of(type)));
}

msg::OperationId Collectives::barrier() {
    Call call;
    call.place = {&engine_.spaces().space(MemoryKind::host), -1};
    return start(call, plans_.barrier());
}

msg::OperationId Collectives::start(Call call, std::shared_ptr<const Schedule> schedule) {
    call.context = context_;
    call.sequence = sequence_;
    auto task = std::make_unique<PlanTask>(engine_, call, std::move(schedule), workspaces_);
    ++sequence_;
    return engine_.start(std::move(task));
}

} // namespace verbena::coll
