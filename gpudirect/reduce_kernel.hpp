/// @file
/// The seam between the C++ of this plug-in and its reductions. No fmt here or in what it includes: its compile-time
/// checks do not pass nvcc.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>
#include <verbena/group.hpp>

namespace verbena::gpudirect {

inline constexpr std::size_t max_reduce_inputs = 16;

/// `output[i] = op(inputs[0][i], inputs[1][i], ...)`, folded from the left as the host does it, so that both round
/// alike. Any alignment, also below the element's own. `output` is one of the inputs or overlaps none.
struct ReduceLaunch {
    DataType type = DataType::f32;
    ReduceOp op = ReduceOp::sum;
    std::byte* output = nullptr;
    std::array<const std::byte*, max_reduce_inputs> inputs{};
    std::array<double, max_reduce_inputs> factors{}; ///< of sum and avg, where `scaled`
    int input_count = 0;                             ///< from 1
    bool scaled = false;
    std::uint32_t divisor = 1; ///< of avg
    std::size_t count = 0;     ///< elements, at least 1
    std::size_t element_bytes = 0;
    int multiprocessors = 1; ///< of the GPU
    int at_most = 0;         ///< multiprocessors to use; 0: all
};

/// Enqueues on `stream` of the current GPU.
[[nodiscard]] cudaError_t launch_reduce(const ReduceLaunch& launch, cudaStream_t stream);

} // namespace verbena::gpudirect
