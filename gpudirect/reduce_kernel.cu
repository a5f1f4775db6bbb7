#include <algorithm>

#include "reduce_variant.cuh"

namespace verbena::gpudirect {
namespace {

constexpr int blocks_per_multiprocessor = 16; // 16 * 128 threads fill one

ReduceVariant variant_of(const ReduceLaunch& launch) {
    switch (launch.type) {
#define VERBENA_OF(type, element)                                                                                      \
    case DataType::type:                                                                                               \
        return reduce_variant<element>(launch.op, launch.scaled, launch.input_count)
        VERBENA_OF(i8, std::int8_t);
        VERBENA_OF(u8, std::uint8_t);
        VERBENA_OF(i32, std::int32_t);
        VERBENA_OF(u32, std::uint32_t);
        VERBENA_OF(i64, std::int64_t);
        VERBENA_OF(u64, std::uint64_t);
        VERBENA_OF(f32, float);
        VERBENA_OF(f64, double);
        VERBENA_OF(f16, __half);
        VERBENA_OF(bf16, __nv_bfloat16);
        VERBENA_OF(f8e4m3, E4m3);
        VERBENA_OF(f8e5m2, E5m2);
#undef VERBENA_OF
    }
    return {};
}

/// Vectors need every pointer at the same distance from a 16-byte boundary, and that distance in whole elements.
void split(const ReduceLaunch& launch, ReduceArguments& arguments) {
    const std::size_t element_bytes = launch.element_bytes;
    const auto address = [](const std::byte* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); };
    const std::uintptr_t misalignment = address(launch.output) % vector_bytes;
    bool alike = true;
    bool elements_are_aligned = misalignment % element_bytes == 0;
    for (int i = 0; i < launch.input_count; ++i) {
        alike = alike && address(launch.inputs[i]) % vector_bytes == misalignment;
        elements_are_aligned = elements_are_aligned && address(launch.inputs[i]) % element_bytes == 0;
    }
    arguments.elements_are_aligned = elements_are_aligned;
    if (!alike || !elements_are_aligned) return;
    const std::size_t to_boundary = (vector_bytes - misalignment) % vector_bytes / element_bytes;
    arguments.head = std::min(to_boundary, launch.count);
    arguments.vectors = (launch.count - arguments.head) / (vector_bytes / element_bytes);
}

} // namespace

cudaError_t launch_reduce(const ReduceLaunch& launch, cudaStream_t stream) {
    const ReduceVariant variant = variant_of(launch);
    if (variant.kernel == nullptr) return cudaErrorInvalidValue;
    ReduceArguments arguments{};
    std::copy_n(launch.inputs.begin(), launch.input_count, arguments.inputs);
    std::copy_n(launch.factors.begin(), launch.input_count, arguments.factors);
    arguments.output = launch.output;
    arguments.count = launch.count;
    arguments.input_count = launch.input_count;
    arguments.divisor = launch.divisor;
    split(launch, arguments);

    // Whole tiles, a block each, in the order of memory: faster than a grid that strides. Element by element, and where
    // few multiprocessors are to be used, the grid strides; there a multiprocessor gets one block.
    const bool by_vector = arguments.vectors != 0;
    const bool few = launch.at_most > 0;
    const int threads = few ? reduce_threads_of_few : reduce_threads;
    const std::size_t per_block = static_cast<std::size_t>(threads) * (by_vector ? variant.vectors : 1);
    std::size_t blocks = ((by_vector ? arguments.vectors : launch.count) + per_block - 1) / per_block;
    if (few)
        blocks = std::min(blocks, static_cast<std::size_t>(launch.at_most));
    else if (!by_vector)
        blocks = std::min(blocks, static_cast<std::size_t>(launch.multiprocessors) * blocks_per_multiprocessor);
    variant.kernel<<<static_cast<unsigned>(blocks), threads, 0, stream>>>(arguments);
    return cudaGetLastError();
}

} // namespace verbena::gpudirect
