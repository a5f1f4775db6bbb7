/// @file
/// The three kinds of memory that CUDA allocates. Copies and reductions run on the plug-in's own stream (gpu.hpp) and
/// are complete on return.
#pragma once

#include "mem/space.hpp"

namespace verbena::gpudirect {

/// Memory that a GPU copies and reduces. No state: thread-safe.
class GpuSpace : public mem::Space {
  public:
    [[nodiscard]] bool is_host_accessible() const noexcept override { return false; }
    void release(std::byte* memory) noexcept override;
    void copy(std::byte* destination, const std::byte* source, std::size_t bytes) override;
    void reduce(DataType type, ReduceOp op, std::byte* output, std::span<const std::byte* const> inputs,
                std::size_t count) override;
    void divide(DataType type, std::byte* values, std::size_t count, std::uint32_t divisor) override;
};

class DeviceSpace final : public GpuSpace {
  public:
    [[nodiscard]] MemoryKind kind() const noexcept override { return MemoryKind::device; }
    std::byte* allocate(std::size_t bytes, int gpu) override;
};

/// The CPU may use it, and yet it does not count as host-accessible: a NIC's registration pins the host pages of the
/// moment, and the next touch by a GPU moves the data elsewhere.
class ManagedSpace final : public GpuSpace {
  public:
    [[nodiscard]] MemoryKind kind() const noexcept override { return MemoryKind::managed; }
    std::byte* allocate(std::size_t bytes, int gpu) override;
};

/// Host memory, page-locked for every GPU. To the CPU and the NIC it is host memory like any other.
class PinnedSpace final : public mem::Space {
  public:
    [[nodiscard]] MemoryKind kind() const noexcept override { return MemoryKind::pinned; }
    [[nodiscard]] bool is_host_accessible() const noexcept override { return true; }
    std::byte* allocate(std::size_t bytes, int gpu) override;
    void release(std::byte* memory) noexcept override;
    void copy(std::byte* destination, const std::byte* source, std::size_t bytes) override;
    void reduce(DataType type, ReduceOp op, std::byte* output, std::span<const std::byte* const> inputs,
                std::size_t count) override;
    void divide(DataType type, std::byte* values, std::size_t count, std::uint32_t divisor) override;
};

} // namespace verbena::gpudirect
