#pragma once

#include <memory>
#include <span>

#include <verbena/memory.hpp>

#include "api/gate.hpp"
#include "mem/space.hpp"
#include "msg/registrations.hpp"
#include "wire/device.hpp"

namespace verbena {

/// Keeps device and spaces alive, since a region may be destroyed after its Runtime.
struct MemoryRegion::Impl {
    std::shared_ptr<detail::Gate> gate;
    std::shared_ptr<mem::Spaces> spaces;
    std::shared_ptr<wire::Device> device;
    std::unique_ptr<msg::Engine::Registration> registration;
    std::span<std::byte> bytes;
    mem::Space* owner = nullptr; ///< frees the memory; null where it is the user's
    MemoryKind kind = MemoryKind::host;
    Access access = Access::none;

    ~Impl();
};

} // namespace verbena
