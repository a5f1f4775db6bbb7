#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/types.hpp"

namespace verbena::wire {

/// A registration with one device. The memory is its user's; destruction deregisters. Made by a Device, which outlives
/// it.
class MemoryRegion {
  public:
    virtual ~MemoryRegion() = default;

    [[nodiscard]] virtual std::span<std::byte> bytes() const = 0;
    [[nodiscard]] virtual LocalKey lkey() const = 0;
    [[nodiscard]] virtual RemoteKey rkey() const = 0;

    /// What a peer must put in RemoteAddress::address to reach `byte`, which lies in bytes(): a virtual address, or an
    /// offset where the provider wants one (libfabric without FI_MR_VIRT_ADDR).
    [[nodiscard]] virtual std::uint64_t remote_address(const std::byte* byte) const = 0;
};

} // namespace verbena::wire
