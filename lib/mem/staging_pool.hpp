/// @file
/// Host buffers that stand in for memory the device cannot reach. Sizes are powers of two and buffers are kept, so that
/// the steady state allocates nothing. One caller at a time.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "mem/space.hpp"

namespace verbena::mem {

class StagingPool {
  public:
    /// @param space  where buffers come from: pinned where there is a GPU, else host; it outlives the pool
    explicit StagingPool(Space& space) noexcept : space_(space) {}
    ~StagingPool();
    StagingPool(const StagingPool&) = delete;
    StagingPool& operator=(const StagingPool&) = delete;

    std::byte* acquire(std::size_t bytes); ///< at least so many; @throws Error (exhausted)
    void release(std::byte* buffer, std::size_t bytes);

  private:
    static constexpr std::size_t smallest_bytes = 4096;
    [[nodiscard]] static std::size_t class_of(std::size_t bytes) noexcept;

    Space& space_;
    std::array<std::vector<std::byte*>, 64> free_;
};

} // namespace verbena::mem
