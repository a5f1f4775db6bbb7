#include <verbena/device.hpp>

#include <verbena/error.hpp>

#include "api/backends.hpp"
#include "api/device_choice.hpp"
#include "mem/space.hpp"
#include "wire/backend.hpp"

namespace verbena {

Inventory take_inventory() {
    register_backends();
    Inventory inventory;
    for (const wire::Backend* backend : wire::backends()) {
        inventory.backends.push_back(backend->probe());
        for (DeviceInfo& device : backend->enumerate()) inventory.devices.push_back(std::move(device));
    }
    for (const BackendInfo& info : wire::absent_backends()) inventory.backends.push_back(info);
    try {
        const mem::Spaces spaces("auto");
        inventory.gpus = spaces.gpus();
        inventory.gpu_note = spaces.note();
    } catch (const Error& error) {
        inventory.gpu_note = error.what();
    }
    return inventory;
}

Selection select_device(const Inventory& inventory, const Settings& settings) {
    return find_candidates(inventory, settings).selections.front();
}

} // namespace verbena
