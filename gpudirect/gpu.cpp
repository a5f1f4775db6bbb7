#include "gpu.hpp"

#include <array>
#include <mutex>

#include <fmt/format.h>

#include "cuda_error.hpp"

namespace verbena::gpudirect {
namespace {

constexpr int max_gpus = 64;

void throw_unknown(int gpu, int visible) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("there is no cuda:{}: this process sees {} GPU(s), counted from 0", gpu, visible),
                "see nvidia-smi -L and CUDA_VISIBLE_DEVICES");
}

} // namespace

std::vector<GpuInfo> list_gpus() {
    int count = 0;
    check(cuDeviceGetCount(&count), "cuDeviceGetCount");
    std::vector<GpuInfo> gpus;
    for (int ordinal = 0; ordinal < count; ++ordinal) {
        CUdevice device = 0;
        check(cuDeviceGet(&device, ordinal), fmt::format("cuDeviceGet of cuda:{}", ordinal));
        std::array<char, 256> name{};
        check(cuDeviceGetName(name.data(), static_cast<int>(name.size()), device),
              fmt::format("cuDeviceGetName of cuda:{}", ordinal));
        std::size_t bytes = 0;
        check(cuDeviceTotalMem(&bytes, device), fmt::format("cuDeviceTotalMem of cuda:{}", ordinal));
        int dma_buf = 0;
        // A driver from before CUDA 11.7 does not know the attribute: then it cannot do it either.
        if (cuDeviceGetAttribute(&dma_buf, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, device) != CUDA_SUCCESS) dma_buf = 0;
        gpus.push_back({ordinal, name.data(), bytes, dma_buf != 0});
    }
    return gpus;
}

CurrentGpu::CurrentGpu(int gpu) {
    check(cudaGetDevice(&previous_), "cudaGetDevice");
    if (gpu == previous_) return;
    int visible = 0;
    check(cudaGetDeviceCount(&visible), "cudaGetDeviceCount");
    if (gpu < 0 || gpu >= visible) throw_unknown(gpu, visible);
    check(cudaSetDevice(gpu), fmt::format("cudaSetDevice({})", gpu));
}

CurrentGpu::~CurrentGpu() { cudaSetDevice(previous_); }

const GpuQueue& queue_of(int gpu) {
    static std::array<GpuQueue, max_gpus> queues;
    static std::array<std::once_flag, max_gpus> made;
    if (gpu < 0 || gpu >= max_gpus) throw_unknown(gpu, max_gpus);
    const auto index = static_cast<std::size_t>(gpu);
    std::call_once(made[index], [&] {
        GpuQueue queue;
        check(cudaDeviceGetAttribute(&queue.multiprocessors, cudaDevAttrMultiProcessorCount, gpu),
              fmt::format("cudaDeviceGetAttribute of cuda:{}", gpu));
        check(cudaStreamCreateWithFlags(&queue.stream, cudaStreamNonBlocking),
              fmt::format("cudaStreamCreate on cuda:{}", gpu));
        queues[index] = queue;
    });
    return queues[index];
}

} // namespace verbena::gpudirect
