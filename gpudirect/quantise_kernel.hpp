/// @file
/// The seam to the quantisation kernels: see reduce_kernel.hpp.
#pragma once

#include <cuda_runtime_api.h>
#include <verbena/gpu_kernels.hpp>

namespace verbena::gpudirect {

enum class QuantiseWay : std::uint8_t { to_codes, to_values };

struct QuantiseLaunch {
    GpuQuantisation what; ///< types checked, count at least 1
    QuantiseWay way = QuantiseWay::to_codes;
    int at_most = 0; ///< multiprocessors to use; 0: all
};

/// Enqueues on `stream` of the current GPU.
[[nodiscard]] cudaError_t launch_quantise(const QuantiseLaunch& launch, cudaStream_t stream);

} // namespace verbena::gpudirect
