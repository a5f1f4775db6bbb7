#include <verbena/group.hpp>

#include "api/runtime_core.hpp"
#include "coll/selection.hpp"

namespace verbena {

std::uint32_t Group::rank() const noexcept { return core_->job.rank; }
std::uint32_t Group::size() const noexcept { return core_->job.size; }

Operation Group::all_reduce(const void* input, void* output, std::size_t count, DataType type, ReduceOp op,
                            std::string_view algorithm) {
    return core_->operation(
        [&](msg::Engine&) { return core_->world->all_reduce(input, output, count, type, op, algorithm); });
}

Operation Group::barrier() {
    return core_->operation([&](msg::Engine&) { return core_->world->barrier(); });
}

AlgorithmChoice Group::explain_all_reduce(std::size_t count, DataType type) const {
    return coll::select_all_reduce(size(), count * size_of(type));
}

std::vector<std::string> Group::all_reduce_algorithms() { return coll::all_reduce_algorithms(); }

} // namespace verbena
