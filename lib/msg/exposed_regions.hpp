/// @file
/// The regions that a peer may name in a request which this rank's engine carries out. Progress-thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <verbena/memory.hpp>

namespace verbena::msg {

/// A handle is an index below and a generation above, never 0: one of a region that is gone is noticed.
class ExposedRegions {
  public:
    std::uint64_t insert(std::span<std::byte> bytes, Access access) {
        if (free_.empty()) {
            entries_.emplace_back();
            free_.push_back(static_cast<std::uint32_t>(entries_.size() - 1));
        }
        const std::uint32_t index = free_.back();
        free_.pop_back();
        Entry& entry = entries_[index];
        entry.bytes = bytes;
        entry.access = access;
        ++entry.generation;
        return std::uint64_t{entry.generation} << 32 | index;
    }

    void erase(std::uint64_t handle) {
        const auto index = static_cast<std::uint32_t>(handle);
        entries_[index].bytes = {};
        ++entries_[index].generation;
        free_.push_back(index);
    }

    /// Bytes [offset, offset + length) of the region; null when handle, bounds or access forbid it.
    [[nodiscard]] std::byte* find(std::uint64_t handle, std::uint64_t offset, std::uint64_t length,
                                  Access access) const noexcept {
        const auto index = static_cast<std::uint32_t>(handle);
        if (index >= entries_.size()) return nullptr;
        const Entry& entry = entries_[index];
        if (entry.generation != handle >> 32 || entry.bytes.empty() || !allows(entry.access, access)) return nullptr;
        if (offset > entry.bytes.size() || length > entry.bytes.size() - offset) return nullptr;
        return entry.bytes.data() + offset;
    }

  private:
    struct Entry {
        std::span<std::byte> bytes{};
        Access access = Access::none;
        std::uint32_t generation = 0; ///< odd while the entry is in use
    };
    std::vector<Entry> entries_;
    std::vector<std::uint32_t> free_;
};

} // namespace verbena::msg
