/// @file
/// The GPUs of this process and what the plug-in keeps for each.
#pragma once

#include <vector>

#include <cuda_runtime_api.h>
#include <verbena/device.hpp>

namespace verbena::gpudirect {

/// As the driver lists them, CUDA_VISIBLE_DEVICES applied. Makes no context: asking costs no GPU memory.
[[nodiscard]] std::vector<GpuInfo> list_gpus();

/// Makes `gpu` current for the calling thread, and the caller's own choice again at the end.
class CurrentGpu {
  public:
    explicit CurrentGpu(int gpu); ///< @throws Error for an ordinal that this process does not see
    ~CurrentGpu();
    CurrentGpu(const CurrentGpu&) = delete;
    CurrentGpu& operator=(const CurrentGpu&) = delete;

  private:
    int previous_ = 0;
};

/// What our own copies and kernels on one GPU run on. The stream is non-blocking: it neither waits for the caller's
/// streams nor makes them wait, so the caller's kernels must be done with the memory before they hand it over.
struct GpuQueue {
    cudaStream_t stream = nullptr;
    int multiprocessors = 0;
};

/// Made at first use, while `gpu` is current; lives as long as the process. Thread-safe.
[[nodiscard]] const GpuQueue& queue_of(int gpu);

} // namespace verbena::gpudirect
