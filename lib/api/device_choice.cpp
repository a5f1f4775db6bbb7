#include "api/device_choice.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <verbena/error.hpp>

#include "api/backends.hpp"
#include "wire/backend.hpp"

namespace verbena {
namespace {

bool is_same_host_only(const Inventory& inventory, const Selection& selection) {
    return std::any_of(inventory.devices.begin(), inventory.devices.end(), [&](const DeviceInfo& device) {
        return device.backend == selection.backend && device.name == selection.device && device.same_host_only;
    });
}

void append_backend(const wire::Backend& backend, const Inventory& inventory, const Settings& settings,
                    Candidates& found) {
    std::vector<DeviceInfo> devices;
    std::copy_if(inventory.devices.begin(), inventory.devices.end(), std::back_inserter(devices),
                 [&](const DeviceInfo& device) { return device.backend == backend.name(); });
    try {
        const auto selections = backend.candidates(devices, settings, found.rejected);
        found.selections.insert(found.selections.end(), selections.begin(), selections.end());
    } catch (const Error& error) {
        found.rejected.push_back({std::string(backend.name()), error.what()});
    }
}

/// An empty list says why in the backend's own words.
void explain_unusable(const Inventory& inventory, Candidates& found) {
    for (const BackendInfo& info : inventory.backends) {
        if (!info.usable) found.rejected.push_back({info.name, info.note});
    }
}

} // namespace

Candidates find_candidates(const Inventory& inventory, const Settings& settings) {
    register_backends();
    Candidates found;
    const std::string& wire = settings.text("wire");
    if (wire == "auto") {
        for (const wire::Backend* backend : wire::backends()) append_backend(*backend, inventory, settings, found);
    } else {
        append_backend(wire::backend(wire), inventory, settings, found);
    }
    std::stable_partition(found.selections.begin(), found.selections.end(),
                          [&](const Selection& selection) { return is_same_host_only(inventory, selection); });
    explain_unusable(inventory, found);
    if (found.selections.empty()) {
        std::vector<std::string> lines;
        for (const Rejection& rejection : found.rejected)
            lines.push_back(fmt::format("{}: {}", rejection.what, rejection.reason));
        const std::string device = settings.text("device");
        throw Error(ErrorCode::unavailable,
                    fmt::format("no usable device{} for wire \"{}\": {}", device.empty() ? "" : " \"" + device + "\"",
                                wire, lines.empty() ? "none was found" : fmt::format("{}", fmt::join(lines, "; "))),
                    "`verbena info` lists what there is; the settings wire and device choose");
    }
    for (Selection& selection : found.selections) selection.rejected = found.rejected;
    return found;
}

std::string transport_of(const Selection& selection) {
    // RDMA devices of one fabric reach each other whatever their names; libfabric providers only their own kind.
    if (selection.backend == "ofi") return selection.backend + ":" + selection.device;
    return selection.transport.empty() ? selection.backend : selection.backend + ":" + selection.transport;
}

std::string agree_on_transport(std::span<const std::vector<std::string>> transports_by_rank) {
    for (const std::string& wanted : transports_by_rank[0]) {
        if (std::all_of(transports_by_rank.begin(), transports_by_rank.end(),
                        [&](const auto& has) { return std::find(has.begin(), has.end(), wanted) != has.end(); })) {
            return wanted;
        }
    }
    std::string lists;
    for (std::size_t rank = 0; rank < transports_by_rank.size(); ++rank) {
        lists +=
            fmt::format("{}rank {} has {}", rank == 0 ? "" : "; ", rank, fmt::join(transports_by_rank[rank], ", "));
    }
    throw Error(ErrorCode::unavailable, "the ranks have no transport in common: " + lists,
                "give every rank the same settings wire and device, or see `verbena info` on each host");
}

} // namespace verbena
