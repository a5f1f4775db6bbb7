#include <cstring>

#include <fmt/format.h>

#include "classify.hpp"
#include "cuda_error.hpp"
#include "cuda_space.hpp"
#include "gpu.hpp"

namespace verbena::gpudirect {
namespace {

/// @throws Error (invalid_argument) for memory that CUDA would fault on: a fault costs the process its context.
mem::Classification usable(const std::byte* pointer) {
    mem::Classification found = classify(pointer);
    if (!found.problem.empty()) throw Error(ErrorCode::invalid_argument, found.problem);
    return found;
}

} // namespace

void GpuSpace::copy(std::byte* destination, const std::byte* source, std::size_t bytes) {
    if (bytes == 0) return;
    const mem::Classification to = usable(destination);
    const mem::Classification from = usable(source);
    // The GPU of the memory, not the caller's current one: that would open a context on a GPU that nobody asked for.
    const int gpu = to.gpu >= 0 ? to.gpu : from.gpu;
    if (gpu < 0) {
        std::memmove(destination, source, bytes);
        return;
    }
    const auto tried = [&] {
        return fmt::format("copying {} bytes from {} to {} memory on cuda:{}", bytes, name(from.kind), name(to.kind),
                           gpu);
    };
    const CurrentGpu current(gpu);
    check(cudaMemcpyAsync(destination, source, bytes, cudaMemcpyDefault, current.stream()), tried);
    check(cudaStreamSynchronize(current.stream()), tried);
}

void PinnedSpace::copy(std::byte* destination, const std::byte* source, std::size_t bytes) {
    if (bytes != 0) std::memmove(destination, source, bytes);
}

} // namespace verbena::gpudirect
