#include "share.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>
#include <unistd.h>

#include "cuda_error.hpp"
#include "gpu.hpp"

namespace verbena::gpudirect {
namespace {

constexpr std::size_t most_handles = 1024; // beyond it all are asked for anew

struct Range {
    CUdeviceptr begin = 0;
    std::size_t bytes = 0;
    unsigned long long allocation = 0;
    unsigned is_shareable = 0;
    int gpu = -1;
};

Range range_of(const std::byte* pointer) {
    Range range;
    std::array<CUpointer_attribute, 5> names = {
        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_BUFFER_ID,
        CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    std::array<void*, 5> values = {&range.begin, &range.bytes, &range.allocation, &range.is_shareable, &range.gpu};
    const CUresult result = cuPointerGetAttributes(static_cast<unsigned>(names.size()), names.data(), values.data(),
                                                   reinterpret_cast<CUdeviceptr>(pointer));
    return result == CUDA_SUCCESS ? range : Range{};
}

} // namespace

std::optional<mem::SharedMemory> SharedAllocations::share(const std::byte* pointer) {
    const Range range = range_of(pointer);
    if (range.is_shareable == 0 || range.begin == 0 || range.gpu < 0) return std::nullopt;
    mem::SharedMemory shared;
    shared.process = static_cast<std::uint32_t>(getpid());
    shared.allocation = range.allocation;
    shared.begin = range.begin;
    shared.bytes = range.bytes;
    shared.offset = reinterpret_cast<CUdeviceptr>(pointer) - range.begin;
    shared.gpu = uuid_of(range.gpu);
    const std::lock_guard lock(mutex_);
    auto known = handles_.find(range.allocation);
    if (known == handles_.end()) {
        if (handles_.size() >= most_handles) handles_.clear();
        const CurrentGpu current(range.gpu);
        CUipcMemHandle handle{};
        if (cuIpcGetMemHandle(&handle, range.begin) != CUDA_SUCCESS) return std::nullopt;
        known = handles_.emplace(range.allocation, handle).first;
    }
    static_assert(sizeof(CUipcMemHandle) == sizeof(shared.handle));
    std::memcpy(shared.handle.data(), &known->second, sizeof(CUipcMemHandle));
    return shared;
}

/// An allocation that lies where an older one of the same process did: that one was freed.
void SharedAllocations::forget_what_is_gone(const mem::SharedMemory& source) {
    std::erase_if(mappings_, [&](const Mapping& old) {
        const bool overlaps = old.process == source.process && old.begin < source.begin + source.bytes &&
                              source.begin < old.begin + old.bytes;
        if (overlaps) cuIpcCloseMemHandle(old.address);
        return overlaps;
    });
    if (mappings_.size() < most_mappings) return;
    const auto oldest = std::min_element(mappings_.begin(), mappings_.end(),
                                         [](const Mapping& a, const Mapping& b) { return a.last_use < b.last_use; });
    cuIpcCloseMemHandle(oldest->address);
    mappings_.erase(oldest);
}

CUdeviceptr SharedAllocations::map(const mem::SharedMemory& source, int gpu) {
    if (source.process == static_cast<std::uint32_t>(getpid())) return source.begin + source.offset;
    const std::lock_guard lock(mutex_);
    for (Mapping& known : mappings_) {
        if (known.process != source.process || known.allocation != source.allocation || known.begin != source.begin)
            continue;
        known.last_use = ++uses_;
        return known.address + source.offset;
    }
    forget_what_is_gone(source);
    CUipcMemHandle handle{};
    std::memcpy(&handle, source.handle.data(), sizeof(handle));
    CUdeviceptr address = 0;
    const CUresult opened = cuIpcOpenMemHandle(&address, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    if (opened != CUDA_SUCCESS) {
        throw error_of(
            opened,
            fmt::format("cuIpcOpenMemHandle of {} bytes of process {} on cuda:{}", source.bytes, source.process, gpu),
            "set gpu-ipc=off to go by way of host memory; in containers, share the IPC and PID name spaces");
    }
    mappings_.push_back({source.process, source.allocation, source.begin, source.bytes, address, ++uses_});
    return address + source.offset;
}

void SharedAllocations::copy(std::byte* destination, const mem::SharedMemory& source, std::size_t bytes) {
    if (source.offset > source.bytes || bytes > source.bytes - source.offset) {
        throw Error(ErrorCode::protocol_violation, fmt::format("a peer offered {} bytes at {} of an allocation of {}",
                                                               bytes, source.offset, source.bytes));
    }
    if (bytes == 0) return;
    const int gpu = gpu_of(source.gpu);
    const CurrentGpu current(gpu);
    const auto tried = [&] {
        return fmt::format("copying {} bytes of process {} on cuda:{}", bytes, source.process, gpu);
    };
    const auto* from = reinterpret_cast<const void*>(map(source, gpu));
    check(cudaMemcpyAsync(destination, from, bytes, cudaMemcpyDefault, current.stream()), tried);
    check(cudaStreamSynchronize(current.stream()), tried);
}

} // namespace verbena::gpudirect
