/// @file
/// The seam to the kernels that move and combine rows: see reduce_kernel.hpp.
#pragma once

#include <cuda_runtime_api.h>
#include <verbena/gpu_kernels.hpp>

namespace verbena::gpudirect {

enum class RowsWay : std::uint8_t { pack, unpack };

/// `at_most`: multiprocessors to use; 0: all. Each enqueues on `stream` of the current GPU.
[[nodiscard]] cudaError_t launch_rows(const GpuRows& rows, RowsWay way, int at_most, cudaStream_t stream);
[[nodiscard]] cudaError_t launch_combine(const GpuCombination& combination, int at_most, cudaStream_t stream);

} // namespace verbena::gpudirect
