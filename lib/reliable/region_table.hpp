#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <verbena/memory.hpp>

#include "wire/memory_region.hpp"

namespace verbena::reliable {

/// Memory that peers may read and write through us: this end copies, so nothing is registered with the device. A key
/// holds a random half, so that none can be guessed from another, and is never given twice. Progress-thread only.
class RegionTable {
  public:
    /// @throws Error (invalid_argument) for no bytes.
    std::unique_ptr<wire::MemoryRegion> add(std::span<std::byte> memory, Access access, std::uint32_t random);

    /// Where the peer's address lies in our memory; null when key, bounds or access forbid it.
    [[nodiscard]] std::byte* translate(std::uint64_t rkey, std::uint64_t address, std::uint64_t length,
                                       Access access) const noexcept;

  private:
    class Region;
    struct Entry {
        std::span<std::byte> bytes{}; ///< empty: free
        Access access = Access::none;
        std::uint32_t secret = 0;
    };
    std::vector<Entry> entries_;
    std::vector<std::uint32_t> free_;
};

} // namespace verbena::reliable
