#include "inventory_json.hpp"

#include <nlohmann/json.hpp>

namespace verbena::tools {
namespace {

template <class Range, class Convert>
Json list(const Range& range, const Convert& convert) {
    Json array = Json::array();
    for (const auto& item : range) array.push_back(convert(item));
    return array;
}

Json backend_json(const BackendInfo& backend) {
    return {{"name", backend.name}, {"usable", backend.usable}, {"note", backend.note}};
}

Json gid_json(const GidInfo& gid) {
    return {{"index", gid.index},
            {"gid", gid.gid},
            {"type", gid.type},
            {"netdev", gid.netdev},
            {"netdev_is_here", gid.netdev_is_here}};
}

/// What a port does not have (LID on RoCE, MTU and rate of a software provider) is left out, not shown as 0.
Json port_json(const PortInfo& port) {
    Json object = {{"number", port.number}, {"state", name(port.state)}};
    if (!port.phys_state.empty()) object["phys_state"] = port.phys_state;
    if (!port.link_layer.empty()) object["link_layer"] = port.link_layer;
    if (port.max_mtu_bytes != 0) object["max_mtu_bytes"] = port.max_mtu_bytes;
    if (port.active_mtu_bytes != 0) object["active_mtu_bytes"] = port.active_mtu_bytes;
    if (port.rate_gbps > 0) object["rate_gbps"] = port.rate_gbps;
    if (port.lid != 0) object["lid"] = port.lid;
    if (!port.gids.empty()) object["gids"] = list(port.gids, gid_json);
    return object;
}

Json limits_json(const DeviceLimits& limits) {
    Json object = Json::object();
    const auto add = [&](const char* key, std::uint64_t value) {
        if (value != 0) object[key] = value;
    };
    add("max_message_bytes", limits.max_message_bytes);
    add("max_queue_pairs", limits.max_queue_pairs);
    add("max_work_requests", limits.max_work_requests);
    add("max_sges", limits.max_sges);
    add("max_completions", limits.max_completions);
    add("max_read_atomic", limits.max_read_atomic);
    add("max_read_atomic_initiator", limits.max_read_atomic_initiator);
    return object;
}

Json device_json(const DeviceInfo& device) {
    Json object = {{"name", device.name}, {"backend", device.backend}, {"driver", device.driver}};
    if (!device.firmware.empty()) object["firmware"] = device.firmware;
    if (!device.node_guid.empty()) object["node_guid"] = device.node_guid;
    if (device.numa_node >= 0) object["numa_node"] = device.numa_node;
    object["same_host_only"] = device.same_host_only;
    if (!device.problem.empty()) object["problem"] = device.problem;
    object["limits"] = limits_json(device.limits);
    object["ports"] = list(device.ports, port_json);
    return object;
}

Json gpu_json(const GpuInfo& gpu) {
    return {{"ordinal", gpu.ordinal},
            {"name", gpu.name},
            {"memory_bytes", gpu.memory_bytes},
            {"dma_buf", gpu.dma_buf},
            {"uuid", gpu.uuid},
            {"pci_address", gpu.pci_address},
            {"bar1_bytes", gpu.bar1_bytes},
            {"nic_writes", gpu.nic_writes},
            {"registration", gpu.registration},
            {"warnings", gpu.warnings}};
}

Json setting_json(const Setting& setting) {
    const bool is_hidden = setting.secret && !setting.value.empty();
    return {{"name", setting.name},     {"value", is_hidden ? std::string("(hidden)") : setting.value},
            {"unit", setting.unit},     {"source", name(setting.source)},
            {"origin", setting.origin}, {"description", setting.description}};
}

} // namespace

Json to_json(const Inventory& inventory) {
    return {{"backends", list(inventory.backends, backend_json)},
            {"devices", list(inventory.devices, device_json)},
            {"gpus", list(inventory.gpus, gpu_json)},
            {"gpu_note", inventory.gpu_note}};
}

Json to_json(const Selection& selection) {
    return {{"backend", selection.backend},
            {"device", selection.device},
            {"port", selection.port},
            {"gid_index", selection.gid_index},
            {"transport", selection.transport},
            {"reason", selection.reason},
            {"warning", selection.warning},
            {"rejected", list(selection.rejected, [](const Rejection& rejection) {
                 return Json{{"what", rejection.what}, {"reason", rejection.reason}};
             })}};
}

Json to_json(const Settings& settings) { return list(settings.all(), setting_json); }

} // namespace verbena::tools
