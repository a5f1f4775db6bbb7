/// @file
/// Which memory of a process its peers may reach, in a segment that they map read-only.
///
/// Cross-memory attach knows no keys: who may use it may trace the process, and so could do as it likes anyway. The
/// table lets an *honest* initiator find out by itself, without a word to the target, that a request is outside what
/// its rkey grants; a request that goes through the ring is checked by the target.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <verbena/memory.hpp>

#include "shm/segment.hpp"
#include "wire/types.hpp"

namespace verbena::shm {

/// One registration. `key` is stored last (release) and cleared first; who reads it before (acquire) and after the
/// other fields and finds the same random number has seen one registration.
struct RegionRow {
    std::atomic<std::uint64_t> key; ///< 0: free
    std::atomic<std::uint64_t> base;
    std::atomic<std::uint64_t> length; ///< bytes
    std::atomic<std::uint64_t> access;
};
static_assert(sizeof(RegionRow) == 32);

/// A key: random bits above, the row below, so that a look-up is one access.
inline constexpr std::uint32_t region_row_bits = 14;
inline constexpr std::uint32_t region_rows = 1u << region_row_bits;
inline constexpr std::size_t region_table_bytes = region_rows * sizeof(RegionRow);

/// Whether [address, address + length) lies within what the key grants.
[[nodiscard]] bool grants(std::span<const RegionRow> rows, const wire::RemoteAddress& remote, std::uint64_t length,
                          Access wanted) noexcept;

/// The owner's end. Progress-thread only.
class RegionTable {
  public:
    /// @throws Error
    RegionTable();

    /// @throws Error (exhausted) naming the limit.
    wire::RemoteKey add(std::span<const std::byte> memory, Access access);
    void remove(wire::RemoteKey key) noexcept;

    [[nodiscard]] std::span<const RegionRow> rows() const noexcept { return rows_; }
    [[nodiscard]] int fd() const noexcept { return segment_.fd(); }

  private:
    Segment segment_;
    std::span<RegionRow> rows_;
    std::vector<std::uint32_t> free_; ///< last in, first out: the same few rows stay in the cache
};

} // namespace verbena::shm
