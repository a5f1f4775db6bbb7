#pragma once

#include "wire/memory_region.hpp"

#include "shm/region_table.hpp"

namespace verbena::shm {

/// A row of the device's table. Nothing is pinned: the kernel copies between processes page by page.
class MemoryRegion final : public wire::MemoryRegion {
  public:
    MemoryRegion(RegionTable& table, std::span<std::byte> memory, Access access)
        : table_(table), memory_(memory), key_(table.add(memory, access)) {}
    ~MemoryRegion() override { table_.remove(key_); }

    [[nodiscard]] std::span<std::byte> bytes() const override { return memory_; }
    [[nodiscard]] wire::LocalKey lkey() const override { return {}; } ///< none is needed
    [[nodiscard]] wire::RemoteKey rkey() const override { return key_; }
    [[nodiscard]] std::uint64_t remote_address(const std::byte* byte) const override {
        return reinterpret_cast<std::uint64_t>(byte);
    }

  private:
    RegionTable& table_;
    std::span<std::byte> memory_;
    wire::RemoteKey key_;
};

} // namespace verbena::shm
