#include <utility>

#include <verbena/group.hpp>

#include "api/group_core.hpp"
#include "api/runtime_core.hpp"
#include "coll/selection.hpp"

namespace verbena {
namespace {

Operation started(const detail::GroupCore& group, const coll::Request& request) {
    return group.runtime->operation([&](msg::Engine&) { return group.collectives->start(request); });
}

} // namespace

std::uint32_t Group::rank() const noexcept { return core_->members.own(); }
std::uint32_t Group::size() const noexcept { return core_->members.size(); }
std::vector<std::uint32_t> Group::job_ranks() const { return core_->members.job_ranks(); }
std::string Group::failure() const { return core_->collectives ? core_->collectives->failure() : std::string(); }

Operation Group::all_reduce(const void* input, void* output, std::size_t count, DataType type, ReduceOp op,
                            std::string_view algorithm) {
    return started(*core_, {Collective::all_reduce, input, output, count, type, op, 0, algorithm});
}

Operation Group::broadcast(const void* input, void* output, std::size_t count, DataType type, std::uint32_t root,
                           std::string_view algorithm) {
    return started(*core_, {Collective::broadcast, input, output, count, type, ReduceOp::sum, root, algorithm});
}

Operation Group::reduce(const void* input, void* output, std::size_t count, DataType type, ReduceOp op,
                        std::uint32_t root, std::string_view algorithm) {
    return started(*core_, {Collective::reduce, input, output, count, type, op, root, algorithm});
}

Operation Group::reduce_scatter(const void* input, void* output, std::size_t count, DataType type, ReduceOp op,
                                std::string_view algorithm) {
    return started(*core_, {Collective::reduce_scatter, input, output, count, type, op, 0, algorithm});
}

Operation Group::all_gather(const void* input, void* output, std::size_t count, DataType type,
                            std::string_view algorithm) {
    return started(*core_, {Collective::all_gather, input, output, count, type, ReduceOp::sum, 0, algorithm});
}

Operation Group::gather(const void* input, void* output, std::size_t count, DataType type, std::uint32_t root,
                        std::string_view algorithm) {
    return started(*core_, {Collective::gather, input, output, count, type, ReduceOp::sum, root, algorithm});
}

Operation Group::scatter(const void* input, void* output, std::size_t count, DataType type, std::uint32_t root,
                         std::string_view algorithm) {
    return started(*core_, {Collective::scatter, input, output, count, type, ReduceOp::sum, root, algorithm});
}

Operation Group::all_to_all(const void* input, void* output, std::size_t count, DataType type,
                            std::string_view algorithm) {
    return started(*core_, {Collective::all_to_all, input, output, count, type, ReduceOp::sum, 0, algorithm});
}

Operation Group::scan(const void* input, void* output, std::size_t count, DataType type, ReduceOp op,
                      std::string_view algorithm) {
    return started(*core_, {Collective::scan, input, output, count, type, op, 0, algorithm});
}

Operation Group::exclusive_scan(const void* input, void* output, std::size_t count, DataType type, ReduceOp op,
                                std::string_view algorithm) {
    return started(*core_, {Collective::exclusive_scan, input, output, count, type, op, 0, algorithm});
}

Operation Group::reduce_scatter_v(const void* input, void* output, std::span<const std::uint64_t> counts, DataType type,
                                  ReduceOp op, std::string_view algorithm) {
    return started(*core_, {Collective::reduce_scatter_v, input, output, 0, type, op, 0, algorithm, counts});
}

Operation Group::all_gather_v(const void* input, void* output, std::span<const std::uint64_t> counts, DataType type,
                              std::string_view algorithm) {
    return started(*core_, {Collective::all_gather_v, input, output, 0, type, ReduceOp::sum, 0, algorithm, counts});
}

Operation Group::gather_v(const void* input, void* output, std::span<const std::uint64_t> counts, DataType type,
                          std::uint32_t root, std::string_view algorithm) {
    return started(*core_, {Collective::gather_v, input, output, 0, type, ReduceOp::sum, root, algorithm, counts});
}

Operation Group::scatter_v(const void* input, void* output, std::span<const std::uint64_t> counts, DataType type,
                           std::uint32_t root, std::string_view algorithm) {
    return started(*core_, {Collective::scatter_v, input, output, 0, type, ReduceOp::sum, root, algorithm, counts});
}

Operation Group::all_to_all_v(const void* input, std::span<const std::uint64_t> counts, void* output,
                              std::span<const std::uint64_t> receive_counts, DataType type,
                              std::string_view algorithm) {
    return started(*core_, {Collective::all_to_all_v, input, output, 0, type, ReduceOp::sum, 0, algorithm, counts,
                            receive_counts});
}

Operation Group::barrier() { return started(*core_, {}); }

Operation Group::start(const CollectiveCall& call) { return started(*core_, call); }

struct Persistent::Impl {
    std::shared_ptr<detail::GroupCore> group;
    coll::Prepared prepared;
};

Persistent Group::prepare(const CollectiveCall& call) {
    if (!core_->collectives) throw Error(ErrorCode::cancelled, "prepare: this runtime was closed");
    return Persistent(std::make_unique<Persistent::Impl>(Persistent::Impl{core_, core_->collectives->prepare(call)}));
}

std::string Group::add_plan(std::string_view text) {
    if (!core_->collectives) throw Error(ErrorCode::cancelled, "add_plan: this runtime was closed");
    return core_->collectives->add_plan(text);
}

Persistent::Persistent(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Persistent::Persistent(Persistent&&) noexcept = default;
Persistent& Persistent::operator=(Persistent&&) noexcept = default;
Persistent::~Persistent() = default;

Operation Persistent::start() {
    const detail::GroupCore& group = *impl_->group;
    return group.runtime->operation([&](msg::Engine&) { return group.collectives->start_prepared(impl_->prepared); });
}

AlgorithmChoice Group::explain(Collective collective, std::uint64_t bytes) const {
    return coll::select(collective, size(), bytes);
}

std::vector<std::string> Group::algorithms(Collective collective) { return coll::algorithm_names(collective); }

} // namespace verbena
