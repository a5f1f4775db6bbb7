#include <algorithm>

#include <fmt/format.h>

#include "cuda_error.hpp"
#include "cuda_space.hpp"
#include "gpu.hpp"
#include "pointers.hpp"
#include "reduce_kernel.hpp"

namespace verbena::gpudirect {
namespace {

/// Complete on return.
void run(ReduceLaunch launch, int gpu) {
    const CurrentGpu current(gpu);
    launch.multiprocessors = current.multiprocessors();
    const auto tried = [&] {
        return fmt::format("reducing {} inputs of {} {} elements ({}) on cuda:{}", launch.input_count, launch.count,
                           name(launch.type), name(launch.op), gpu);
    };
    check(launch_reduce(launch, current.stream()), tried);
    check(cudaStreamSynchronize(current.stream()), tried);
}

} // namespace

void GpuSpace::reduce(DataType type, ReduceOp op, std::byte* output, std::span<const std::byte* const> inputs,
                      std::size_t count) {
    if (inputs.size() < 2 || inputs.size() > max_reduce_inputs) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("a reduction takes 2 to {} inputs and was given {}", max_reduce_inputs, inputs.size()));
    }
    if (count == 0) return;
    ReduceLaunch launch;
    launch.type = type;
    launch.op = op;
    launch.output = output;
    launch.input_count = static_cast<int>(inputs.size());
    launch.count = count;
    launch.element_bytes = size_of(type);
    std::copy(inputs.begin(), inputs.end(), launch.inputs.begin());
    const MemoryKind own = kind();
    Pointers pointers("reduce");
    pointers.add("output", output, count * launch.element_bytes, &own);
    for (const std::byte* input : inputs) pointers.add("an input", input, count * launch.element_bytes, &own);
    run(launch, pointers.gpu());
}

void GpuSpace::divide(DataType type, std::byte* values, std::size_t count, std::uint32_t divisor) {
    if (count == 0) return;
    ReduceLaunch launch;
    launch.type = type;
    launch.op = ReduceOp::avg;
    launch.output = values;
    launch.inputs[0] = values;
    launch.input_count = 1;
    launch.divisor = divisor;
    launch.count = count;
    launch.element_bytes = size_of(type);
    const MemoryKind own = kind();
    Pointers pointers("divide");
    pointers.add("values", values, count * launch.element_bytes, &own);
    run(launch, pointers.gpu());
}

void PinnedSpace::reduce(DataType, ReduceOp, std::byte*, std::span<const std::byte* const>, std::size_t) {
    throw Error(ErrorCode::internal, "pinned memory was handed to a space to reduce: the core reduces it itself");
}
void PinnedSpace::divide(DataType, std::byte*, std::size_t, std::uint32_t) {
    throw Error(ErrorCode::internal, "pinned memory was handed to a space to divide: the core divides it itself");
}

} // namespace verbena::gpudirect
