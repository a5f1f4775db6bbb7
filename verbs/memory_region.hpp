#pragma once

#include <verbena/memory.hpp>

#include "verbs/handles.hpp"
#include "wire/memory_region.hpp"

namespace verbena::verbs {

class Device;

/// One ibv_reg_mr. Addresses in it are virtual addresses. Immutable, so thread-safe.
class MemoryRegion final : public wire::MemoryRegion {
  public:
    /// @throws Error (exhausted) with RLIMIT_MEMLOCK and the need; (invalid_argument) for memory that cannot be
    /// registered
    MemoryRegion(Device& device, std::span<std::byte> bytes, Access access);

    std::span<std::byte> bytes() const override { return bytes_; }
    wire::LocalKey lkey() const override { return {region_->lkey}; }
    wire::RemoteKey rkey() const override { return {region_->rkey}; }
    std::uint64_t remote_address(const std::byte* byte) const override {
        return reinterpret_cast<std::uintptr_t>(byte);
    }

  private:
    std::span<std::byte> bytes_;
    MemoryRegionHandle region_;
};

} // namespace verbena::verbs
