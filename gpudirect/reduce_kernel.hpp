/// @file
/// The seam between the C++ of this plug-in and its device code. No fmt here or in what it includes: its compile-time
/// checks do not pass nvcc.
#pragma once

#include <array>
#include <cstddef>

#include <cuda_runtime_api.h>
#include <verbena/group.hpp>

namespace verbena::gpudirect {

inline constexpr std::size_t max_reduce_inputs = 16;

/// `output[i] = op(inputs[0][i], inputs[1][i], ...)`, folded from the left as the host does it, so that both round
/// alike; `avg` is the sum. Any alignment, also below the element's own. `output` is one of the inputs or overlaps
/// none.
struct ReduceLaunch {
    DataType type = DataType::f32;
    ReduceOp op = ReduceOp::sum;
    std::byte* output = nullptr;
    std::array<const std::byte*, max_reduce_inputs> inputs{};
    int input_count = 0;
    std::size_t count = 0; ///< elements, at least 1
    std::size_t element_bytes = 0;
    int multiprocessors = 1;
};

/// Enqueues on `stream` of the current GPU.
[[nodiscard]] cudaError_t launch_reduce(const ReduceLaunch& launch, cudaStream_t stream);

} // namespace verbena::gpudirect
