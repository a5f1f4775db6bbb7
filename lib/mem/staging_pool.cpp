#include "mem/staging_pool.hpp"

#include <algorithm>
#include <bit>

namespace verbena::mem {

std::size_t StagingPool::class_of(std::size_t bytes) noexcept {
    return static_cast<std::size_t>(std::countr_zero(std::bit_ceil(std::max(bytes, smallest_bytes))));
}

StagingPool::~StagingPool() {
    for (const auto& buffers : free_) {
        for (std::byte* buffer : buffers) space_.release(buffer);
    }
}

std::byte* StagingPool::acquire(std::size_t bytes) {
    auto& buffers = free_[class_of(bytes)];
    if (buffers.empty()) return space_.allocate(std::size_t{1} << class_of(bytes), 0);
    std::byte* buffer = buffers.back();
    buffers.pop_back();
    return buffer;
}

void StagingPool::release(std::byte* buffer, std::size_t bytes) { free_[class_of(bytes)].push_back(buffer); }

} // namespace verbena::mem
