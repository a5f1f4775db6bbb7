/// @file
/// GPU memory of one process as another of the same host maps it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace verbena::mem {

/// Goes over the wire in a rendezvous (docs/wire-format.md): fixed layout, little-endian.
struct SharedMemory {
    std::uint32_t process = 0; ///< that owns the memory
    std::uint32_t reserved = 0;
    std::uint64_t allocation = 0;       ///< the driver's number for it, which that process never uses again
    std::uint64_t begin = 0;            ///< of the allocation, in that process
    std::uint64_t bytes = 0;            ///< of the allocation
    std::uint64_t offset = 0;           ///< of what is shared
    std::array<std::byte, 64> handle{}; ///< CUDA IPC, legacy kind
    std::array<std::byte, 16> gpu{};    ///< its UUID
};
static_assert(sizeof(SharedMemory) == 120 && offsetof(SharedMemory, handle) == 40);

} // namespace verbena::mem
