#pragma once

#include "mem/space.hpp"

namespace verbena::mem {

/// Ordinary process memory, in whole pages of its own, so that registering one buffer never covers another's bytes. No
/// state: thread-safe.
class HostSpace final : public Space {
  public:
    [[nodiscard]] MemoryKind kind() const noexcept override { return MemoryKind::host; }
    [[nodiscard]] bool is_host_accessible() const noexcept override { return true; }
    std::byte* allocate(std::size_t bytes, int gpu) override;
    void release(std::byte* memory) noexcept override;
    void copy(std::byte* destination, const std::byte* source, std::size_t bytes) override;
    void reduce(DataType type, ReduceOp op, std::byte* output, std::span<const std::byte* const> inputs,
                std::size_t count) override;
    void divide(DataType type, std::byte* values, std::size_t count, std::uint32_t divisor) override;
};

} // namespace verbena::mem
