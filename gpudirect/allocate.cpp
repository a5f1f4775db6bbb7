#include <fmt/format.h>

#include "classify.hpp"
#include "cuda_error.hpp"
#include "cuda_space.hpp"
#include "gpu.hpp"

namespace verbena::gpudirect {
namespace {

/// CUDA answers null for no bytes, and a buffer's address must be its own.
constexpr std::size_t at_least_one(std::size_t bytes) { return bytes == 0 ? 1 : bytes; }

std::string megabytes(std::size_t bytes) { return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20)); }

/// @throws Error; where memory ran out, with the free and total bytes of the current GPU.
void check_allocation(cudaError_t result, const char* call, std::size_t bytes, int gpu) {
    if (result == cudaSuccess) return;
    const std::string tried = fmt::format("{} of {} bytes ({}) on cuda:{}", call, bytes, megabytes(bytes), gpu);
    std::size_t free_bytes = 0;
    std::size_t total = 0;
    if (result != cudaErrorMemoryAllocation || cudaMemGetInfo(&free_bytes, &total) != cudaSuccess) {
        throw error_of(result, tried);
    }
    throw error_of(result, fmt::format("{} with {} free of {}", tried, megabytes(free_bytes), megabytes(total)));
}

/// On the memory's own GPU, because the runtime opens GPU 0 for a thread that has no context. Waits for kernels that
/// use the memory. It fails only for a pointer that is not ours, or when the driver is going down and took the memory
/// back.
void release_through(cudaError_t (*release)(void*), std::byte* memory) noexcept {
    if (memory == nullptr) return;
    try {
        const CurrentGpu current(classify(memory).gpu);
        release(memory);
    } catch (const Error&) {
    }
}

} // namespace

std::byte* DeviceSpace::allocate(std::size_t bytes, int gpu) {
    const CurrentGpu current(gpu);
    void* memory = nullptr;
    check_allocation(cudaMalloc(&memory, at_least_one(bytes)), "cudaMalloc", bytes, gpu);
    return static_cast<std::byte*>(memory);
}

std::byte* ManagedSpace::allocate(std::size_t bytes, int gpu) {
    const CurrentGpu current(gpu);
    void* memory = nullptr;
    check_allocation(cudaMallocManaged(&memory, at_least_one(bytes)), "cudaMallocManaged", bytes, gpu);
    return static_cast<std::byte*>(memory);
}

void GpuSpace::release(std::byte* memory) noexcept { release_through(cudaFree, memory); }

std::byte* PinnedSpace::allocate(std::size_t bytes, int gpu) {
    const CurrentGpu current(gpu);
    void* memory = nullptr;
    const cudaError_t result = cudaHostAlloc(&memory, at_least_one(bytes), cudaHostAllocPortable);
    if (result == cudaErrorMemoryAllocation) {
        throw error_of(result, fmt::format("cudaHostAlloc of {} bytes ({}) for cuda:{}", bytes, megabytes(bytes), gpu),
                       "ask for less, or see free -h and the memory limit of the control group");
    }
    check_allocation(result, "cudaHostAlloc", bytes, gpu);
    return static_cast<std::byte*>(memory);
}

void PinnedSpace::release(std::byte* memory) noexcept { release_through(cudaFreeHost, memory); }

} // namespace verbena::gpudirect
