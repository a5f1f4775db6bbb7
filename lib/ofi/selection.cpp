#include "ofi/selection.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "wire/placement.hpp"

namespace verbena::ofi {
namespace {

Selection select(const DeviceInfo& device, std::string reason) {
    Selection selection;
    selection.backend = device.backend;
    selection.device = device.name;
    selection.reason = std::move(reason);
    return selection;
}

std::vector<Selection> force(std::span<const DeviceInfo> devices, const std::string& wanted,
                             const wire::Placement& placement, std::vector<Rejection>& rejected) {
    std::vector<Selection> chosen;
    for (const DeviceInfo& device : devices) {
        if (device.name != wanted && device.driver != wanted) {
            rejected.push_back({device.name, fmt::format("the setting device asks for {}", wanted)});
        } else if (!device.problem.empty()) {
            rejected.push_back({device.name, device.problem});
        } else {
            chosen.push_back(select(device, fmt::format("the setting device asks for {}", wanted)));
            if (device.same_host_only && !placement.all_here) {
                chosen.back().warning = fmt::format("{} reaches this host only, but {}", device.name, placement.words);
            }
        }
    }
    return chosen;
}

} // namespace

std::vector<Selection> choose_devices(std::span<const DeviceInfo> devices, const Settings& settings,
                                      std::vector<Rejection>& rejected) {
    const wire::Placement placement = wire::placement_of(settings);
    if (settings.is_set("device")) return force(devices, settings.text("device"), placement, rejected);

    std::vector<Selection> chosen;
    for (const DeviceInfo& device : devices) {
        if (!device.problem.empty()) {
            rejected.push_back({device.name, device.problem});
        } else if (device.name == "shm" && placement.all_here) {
            chosen.insert(chosen.begin(), select(device, placement.words));
        } else if (device.name == "shm") {
            rejected.push_back({device.name, wire::reaches_this_host_only(placement)});
        } else if (device.name == "tcp") {
            chosen.push_back(select(device, fmt::format("reaches every host that IP reaches ({})", device.driver)));
        } else {
            rejected.push_back(
                {device.name, fmt::format("never chosen by rule; the setting device={} forces it", device.name)});
        }
    }
    return chosen;
}

} // namespace verbena::ofi
