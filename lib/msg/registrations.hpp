/// @file
/// Which memory is registered with the device. Looked up once for each large message. Progress-thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include <verbena/memory.hpp>

#include <verbena/remote_region.hpp>

#include "msg/engine.hpp"
#include "msg/exposed_regions.hpp"
#include "wire/device.hpp"

namespace verbena::msg {

/// What registrations of this engine there are, by address. Holds no ownership: Registration does.
class RegistrationMap {
  public:
    void insert(const wire::MemoryRegion& region, Access access);
    void erase(const wire::MemoryRegion& region) noexcept;
    /// A registration that holds all of `memory` with these rights, or null.
    [[nodiscard]] const wire::MemoryRegion* find(std::span<const std::byte> memory, Access access) const noexcept;

    ExposedRegions exposed;
    RemoteRegion::Fields identity; ///< what all remote regions of this rank have in common

  private:
    struct Entry {
        const wire::MemoryRegion* region;
        Access access;
    };
    std::multimap<const std::byte*, Entry> by_address_;
    std::size_t longest_ = 0; ///< bytes of the longest region there has been: none that starts further below reaches up
};

/// A user's registration; takes itself out of the map when it goes.
class Engine::Registration {
  public:
    Registration(std::shared_ptr<RegistrationMap> map, std::unique_ptr<wire::MemoryRegion> region, Access access)
        : map_(std::move(map)), region_(std::move(region)), access_(access) {
        if (!region_) return;
        map_->insert(*region_, access);
        handle_ = map_->exposed.insert(region_->bytes(), access);
    }
    ~Registration() {
        if (!region_) return;
        map_->exposed.erase(handle_);
        map_->erase(*region_);
    }
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

    /// Null for memory that the device cannot reach: it is staged.
    [[nodiscard]] const wire::MemoryRegion* region() const noexcept { return region_.get(); }

    /// What a peer needs to reach it. @throws Error for rights that the registration has not, and for memory that the
    /// device cannot reach.
    [[nodiscard]] RemoteRegion remote(Access rights) const;

  private:
    // Shared because a Registration may be destroyed after the engine's map would be, when a user closes a Runtime
    // before a region: that is a mistake, and must not become a crash.
    std::shared_ptr<RegistrationMap> map_;
    std::unique_ptr<wire::MemoryRegion> region_;
    Access access_;
    std::uint64_t handle_ = 0;
};

} // namespace verbena::msg
