#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>

#include <verbena/memory.hpp>

#include "wire/memory_region.hpp"

namespace verbena::sim {

/// The registrations of one device, found by either key. Local and remote keys never coincide, and no key is given
/// twice: a stale one is always noticed. Progress-thread only.
class MemoryTable {
  public:
    /// @param device goes into the keys: one device's key means nothing to another
    MemoryTable(std::uint32_t device, bool offset_addresses) : device_(device), offset_addresses_(offset_addresses) {}

    /// @throws Error (invalid_argument) for no bytes, (refused) for memory that is not mapped.
    std::unique_ptr<wire::MemoryRegion> add(std::span<std::byte> memory, Access access);

    /// The local key covers these bytes and gives this access.
    [[nodiscard]] bool allows_local(const wire::Sge& sge, Access access) const;

    /// Where the peer's address lies in our memory; null when key, bounds or access forbid it.
    [[nodiscard]] std::byte* translate(wire::RemoteAddress remote, std::uint64_t length, Access access) const;

    struct Entry {
        std::span<std::byte> bytes;
        Access access = Access::none;
        std::uint64_t base = 0; ///< remote address of the first byte
    };

  private:
    friend class Registration;

    std::uint32_t device_;
    bool offset_addresses_;
    std::uint32_t next_ = 1;
    std::unordered_map<std::uint64_t, Entry> entries_; ///< by number, the low half of both keys
};

} // namespace verbena::sim
