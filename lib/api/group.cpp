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

Operation Group::barrier() { return started(*core_, {}); }

AlgorithmChoice Group::explain(Collective collective, std::uint64_t bytes) const {
    return coll::select(collective, size(), bytes);
}

std::vector<std::string> Group::algorithms(Collective collective) { return coll::algorithm_names(collective); }

} // namespace verbena
