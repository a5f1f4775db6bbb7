#include <algorithm>

#include <fmt/format.h>

#include "classify.hpp"
#include "cuda_error.hpp"
#include "cuda_space.hpp"
#include "gpu.hpp"
#include "reduce_kernel.hpp"

namespace verbena::gpudirect {
namespace {

/// A kernel that touches memory of another GPU or of the host faults, and the fault costs the process its context: so
/// every pointer is asked for first.
int common_gpu(MemoryKind kind, const std::byte* output, std::span<const std::byte* const> inputs) {
    const auto gpu_of = [kind](const std::byte* pointer) {
        const mem::Classification found = classify(pointer);
        if (!found.problem.empty()) throw Error(ErrorCode::invalid_argument, found.problem);
        if (found.kind != kind) {
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("a reduction of {} memory was given {}, which is {} memory", name(kind),
                                    static_cast<const void*>(pointer), name(found.kind)));
        }
        return found.gpu;
    };
    const int gpu = gpu_of(output);
    for (const std::byte* input : inputs) {
        if (const int other = gpu_of(input); other != gpu && kind == MemoryKind::device) {
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("a reduction was given memory of cuda:{} and of cuda:{}", gpu, other),
                        "copy the inputs to one GPU first");
        }
    }
    return gpu;
}

} // namespace

void GpuSpace::reduce(DataType type, ReduceOp op, std::byte* output, std::span<const std::byte* const> inputs,
                      std::size_t count) {
    if (inputs.size() < 2 || inputs.size() > max_reduce_inputs) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("a reduction takes 2 to {} inputs and was given {}", max_reduce_inputs, inputs.size()));
    }
    if (type == DataType::f16 || type == DataType::bf16) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{} memory is not reduced as {}", name(kind()), name(type)),
                    "reduce f16 and bf16 in host memory, or convert to f32 first");
    }
    if (count == 0) return;
    const int gpu = common_gpu(kind(), output, inputs);
    const CurrentGpu current(gpu);
    ReduceLaunch launch{
        type, op, output, {}, static_cast<int>(inputs.size()), count, size_of(type), current.multiprocessors()};
    std::copy(inputs.begin(), inputs.end(), launch.inputs.begin());

    const auto tried = [&] {
        return fmt::format("reducing {} inputs of {} {} elements ({}) on cuda:{}", inputs.size(), count, name(type),
                           name(op), gpu);
    };
    check(launch_reduce(launch, current.stream()), tried);
    check(cudaStreamSynchronize(current.stream()), tried);
}

void PinnedSpace::reduce(DataType, ReduceOp, std::byte*, std::span<const std::byte* const>, std::size_t) {
    throw Error(ErrorCode::internal, "pinned memory was handed to a space to reduce: the core reduces it itself");
}

} // namespace verbena::gpudirect
