#include "shm/region_table.hpp"

#include <numeric>

#include <fmt/format.h>
#include <verbena/error.hpp>

#include "shm/random.hpp"

namespace verbena::shm {

bool grants(std::span<const RegionRow> rows, const wire::RemoteAddress& remote, std::uint64_t length,
            Access wanted) noexcept {
    const RegionRow& row = rows[remote.rkey.value & (region_rows - 1)];
    if (remote.rkey.value == 0 || row.key.load(std::memory_order_acquire) != remote.rkey.value) return false;
    const std::uint64_t base = row.base.load(std::memory_order_relaxed);
    const std::uint64_t size = row.length.load(std::memory_order_relaxed);
    const auto access = static_cast<Access>(row.access.load(std::memory_order_relaxed));
    std::atomic_thread_fence(std::memory_order_acquire); // the fields before the second look at the key
    if (row.key.load(std::memory_order_relaxed) != remote.rkey.value) return false;
    const std::uint64_t offset = remote.address - base; // below the base it wraps, and is larger than any size
    return allows(access, wanted) && offset <= size && length <= size - offset;
}

RegionTable::RegionTable()
    : segment_("verbena-regions", region_table_bytes, Segment::Sharing::read_only),
      rows_(reinterpret_cast<RegionRow*>(segment_.data()), region_rows),
      free_(region_rows) {
    std::iota(free_.rbegin(), free_.rend(), 0u);
}

wire::RemoteKey RegionTable::add(std::span<const std::byte> memory, Access access) {
    if (free_.empty()) {
        throw Error(ErrorCode::exhausted,
                    fmt::format("register {} bytes for shared memory: all {} registrations of a device are in use",
                                memory.size(), region_rows),
                    "release registrations, or register larger pieces");
    }
    const std::uint32_t index = free_.back();
    std::uint64_t random = 0;
    while (random == 0) random = random_number() >> region_row_bits;
    free_.pop_back();
    RegionRow& row = rows_[index];
    const std::uint64_t key = random << region_row_bits | index;
    row.base.store(reinterpret_cast<std::uint64_t>(memory.data()), std::memory_order_relaxed);
    row.length.store(memory.size(), std::memory_order_relaxed);
    row.access.store(static_cast<std::uint64_t>(access), std::memory_order_relaxed);
    row.key.store(key, std::memory_order_release);
    return {key};
}

void RegionTable::remove(wire::RemoteKey key) noexcept {
    const auto index = static_cast<std::uint32_t>(key.value & (region_rows - 1));
    rows_[index].key.store(0, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release); // the key goes before the next registration's fields come
    free_.push_back(index);
}

} // namespace verbena::shm
