/// @file
/// GPU memory between the processes of a host, by CUDA IPC.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include <cuda.h>

#include "mem/shared_memory.hpp"

namespace verbena::gpudirect {

/// What this process told others of its allocations, and what it has mapped of theirs. Thread-safe.
class SharedAllocations {
  public:
    /// Nothing for memory that legacy CUDA IPC does not take: host and managed memory, pools, and what cuMemMap mapped.
    [[nodiscard]] std::optional<mem::SharedMemory> share(const std::byte* pointer);
    /// Copies and waits. @throws Error
    void copy(std::byte* destination, const mem::SharedMemory& source, std::size_t bytes);

  private:
    struct Mapping {
        std::uint32_t process = 0;
        std::uint64_t allocation = 0;
        std::uint64_t begin = 0; ///< in the process that owns it
        std::uint64_t bytes = 0;
        CUdeviceptr address = 0; ///< here
        std::uint64_t last_use = 0;
    };
    static constexpr std::size_t most_mappings = 64;

    /// Where `source` begins in this process.
    [[nodiscard]] CUdeviceptr map(const mem::SharedMemory& source, int gpu);
    void forget_what_is_gone(const mem::SharedMemory& source);

    std::mutex mutex_;
    std::map<std::uint64_t, CUipcMemHandle> handles_; ///< by allocation: asking the driver takes microseconds
    std::vector<Mapping> mappings_;
    std::uint64_t uses_ = 0;
};

} // namespace verbena::gpudirect
