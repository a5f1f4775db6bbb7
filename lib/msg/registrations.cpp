#include "msg/registrations.hpp"

#include <algorithm>

namespace verbena::msg {

void RegistrationMap::insert(const wire::MemoryRegion& region, Access access) {
    longest_ = std::max(longest_, region.bytes().size());
    by_address_.emplace(region.bytes().data(), Entry{&region, access});
}

void RegistrationMap::erase(const wire::MemoryRegion& region) noexcept {
    const auto [first, last] = by_address_.equal_range(region.bytes().data());
    for (auto entry = first; entry != last; ++entry) {
        if (entry->second.region == &region) {
            by_address_.erase(entry);
            return;
        }
    }
}

const wire::MemoryRegion* RegistrationMap::find(std::span<const std::byte> memory, Access access) const noexcept {
    // Regions may overlap, so the nearest start below need not be the one.
    for (auto entry = by_address_.upper_bound(memory.data()); entry != by_address_.begin();) {
        --entry;
        const auto bytes = entry->second.region->bytes();
        const auto offset = static_cast<std::size_t>(memory.data() - bytes.data());
        if (offset > longest_) return nullptr;
        if (offset + memory.size() <= bytes.size() && allows(entry->second.access, access)) return entry->second.region;
    }
    return nullptr;
}

} // namespace verbena::msg
