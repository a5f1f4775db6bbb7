/// @file
/// The GPUs of this process and what the plug-in keeps for each.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <verbena/device.hpp>

namespace verbena::gpudirect {

/// As the driver lists them, CUDA_VISIBLE_DEVICES applied. Makes no context: asking costs no GPU memory.
[[nodiscard]] std::vector<GpuInfo> list_gpus();

using GpuUuid = std::array<std::byte, 16>;
[[nodiscard]] GpuUuid uuid_of(int gpu);
/// @throws Error (unavailable) for a GPU that this process does not see
[[nodiscard]] int gpu_of(const GpuUuid& uuid);

/// What the plug-in keeps of one GPU. The context is the primary one, which the caller's CUDA runtime shares.
struct OpenGpu {
    CUcontext context = nullptr;
    cudaStream_t stream = nullptr; ///< of our copies and kernels
    int multiprocessors = 0;
};

/// Makes `gpu` current for the calling thread; at the end, whatever context the thread had, or none, is current again.
/// Opened at first use, for the life of the process. The stream is non-blocking: it neither waits for the caller's
/// streams nor makes them wait, so the caller's kernels must be done with the memory before they hand it over.
class CurrentGpu {
  public:
    explicit CurrentGpu(int gpu); ///< @throws Error for an ordinal that this process does not see
    ~CurrentGpu();
    CurrentGpu(const CurrentGpu&) = delete;
    CurrentGpu& operator=(const CurrentGpu&) = delete;

    [[nodiscard]] cudaStream_t stream() const noexcept { return open_.stream; }
    [[nodiscard]] int multiprocessors() const noexcept { return open_.multiprocessors; }

  private:
    const OpenGpu& open_;
};

} // namespace verbena::gpudirect
