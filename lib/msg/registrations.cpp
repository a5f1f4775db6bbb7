#include "msg/registrations.hpp"

#include <algorithm>

#include <fmt/format.h>

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

RemoteRegion Engine::Registration::remote(Access rights) const {
    constexpr Access remote_rights = Access::remote_read | Access::remote_write | Access::remote_atomic;
    if (!allows(remote_rights, rights) || rights == Access::none || !allows(access_, rights)) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("rights {:#x} were asked for, the registration has {:#x} of the remote ones ({:#x})",
                                static_cast<unsigned>(rights),
                                static_cast<unsigned>(access_) & static_cast<unsigned>(remote_rights),
                                static_cast<unsigned>(remote_rights)),
                    "register the memory with the rights that peers are to have, none beyond");
    }
    if (!region_) {
        throw Error(ErrorCode::unavailable, "the device cannot reach this kind of memory, so no peer can",
                    "expose host memory and copy, or send messages, which are staged");
    }
    RemoteRegion::Fields fields = map_->identity;
    fields.rights = rights;
    fields.memory = reinterpret_cast<std::uint64_t>(region_->bytes().data());
    fields.length = region_->bytes().size();
    fields.address = region_->remote_address(region_->bytes().data());
    fields.rkey = region_->rkey().value;
    fields.handle = handle_;
    return RemoteRegion(fields);
}

} // namespace verbena::msg
