#include "ofi/selection.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace verbena::ofi {
namespace {

/// Where the ranks are, as far as the launcher said.
struct Placement {
    bool all_here = false;
    std::string words; ///< "2 of 4 ranks are on this host"
};

Placement placement_of(const Settings& settings) {
    if (!settings.is_set("size")) return {false, "how many ranks there are is not known (setting size)"};
    const auto size = settings.number("size");
    if (size == 1) return {true, "the job has one rank"};
    if (!settings.is_set("local-size")) {
        return {false,
                fmt::format("how many of the {} ranks are on this host is not known (setting local-size)", size)};
    }
    const auto here = settings.number("local-size");
    return {here == size, here == size ? fmt::format("all {} ranks are on this host", size)
                                       : fmt::format("{} of {} ranks are on this host", here, size)};
}

Selection select(const DeviceInfo& device, std::string reason) {
    Selection selection;
    selection.backend = device.backend;
    selection.device = device.name;
    selection.reason = std::move(reason);
    return selection;
}

std::vector<Selection> force(std::span<const DeviceInfo> devices, const std::string& wanted, const Placement& placement,
                             std::vector<Rejection>& rejected) {
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
    const Placement placement = placement_of(settings);
    if (settings.is_set("device")) return force(devices, settings.text("device"), placement, rejected);

    std::vector<Selection> chosen;
    for (const DeviceInfo& device : devices) {
        if (!device.problem.empty()) {
            rejected.push_back({device.name, device.problem});
        } else if (device.name == "shm" && placement.all_here) {
            chosen.insert(chosen.begin(), select(device, placement.words));
        } else if (device.name == "shm") {
            rejected.push_back({device.name, "it reaches this host only, and " + placement.words});
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
