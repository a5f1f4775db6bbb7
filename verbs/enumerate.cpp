#include "verbs/enumerate.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include <dlfcn.h>

#include <fmt/format.h>

#include "verbs/chain.hpp"
#include "verbs/errors.hpp"
#include "verbs/gid_rules.hpp"
#include "verbs/netdevs.hpp"

namespace verbena::verbs {
namespace {

/// The list of the library; empty where it refuses (no module, no netlink).
class DeviceList {
  public:
    DeviceList() : devices_(ibv_get_device_list(&count_), ibv_free_device_list) {}

    [[nodiscard]] ibv_device* find(const std::string& name) const {
        for (int i = 0; devices_ != nullptr && i < count_; ++i) {
            if (name == ibv_get_device_name(devices_.get()[i])) return devices_.get()[i];
        }
        return nullptr;
    }

  private:
    int count_ = 0;
    std::unique_ptr<ibv_device*, void (*)(ibv_device**)> devices_;
};

/// Providers lie in libibverbs/ beside the library, wherever that was loaded from.
std::string provider_directory() {
    Dl_info info{};
    if (dladdr(reinterpret_cast<const void*>(&ibv_get_device_list), &info) == 0 || info.dli_fname == nullptr) return {};
    const std::filesystem::path directory = std::filesystem::path(info.dli_fname).parent_path() / "libibverbs";
    std::error_code error;
    return std::filesystem::is_directory(directory, error) ? directory.string() : std::string();
}

std::string problem_of(const Roots& roots, const DeviceInfo& device, bool listed) {
    return missing_link(roots, device, {listed, provider_directory()});
}

void add_limits(ibv_context& context, DeviceInfo& info) {
    ibv_device_attr attributes{};
    if (const int error = ibv_query_device(&context, &attributes); error != 0) {
        info.problem = fmt::format("ibv_query_device: {}", describe(errno_cause(error)));
        return;
    }
    info.limits.max_queue_pairs = static_cast<std::uint32_t>(attributes.max_qp);
    info.limits.max_work_requests = static_cast<std::uint32_t>(attributes.max_qp_wr);
    info.limits.max_sges = static_cast<std::uint32_t>(attributes.max_sge);
    info.limits.max_completions = static_cast<std::uint32_t>(attributes.max_cqe);
    info.limits.max_read_atomic = static_cast<std::uint32_t>(attributes.max_qp_rd_atom);
    info.limits.max_read_atomic_initiator = static_cast<std::uint32_t>(attributes.max_qp_init_rd_atom);
    if (info.firmware.empty()) info.firmware = attributes.fw_ver;
}

void add_port(ibv_context& context, const Roots& roots, DeviceInfo& info, PortInfo& port) {
    ibv_port_attr attributes{};
    if (ibv_query_port(&context, static_cast<std::uint8_t>(port.number), &attributes) != 0) return;
    port.max_mtu_bytes = mtu_bytes(attributes.max_mtu);
    port.active_mtu_bytes = mtu_bytes(attributes.active_mtu);
    info.limits.max_message_bytes = std::max<std::uint64_t>(info.limits.max_message_bytes, attributes.max_msg_sz);
    port.gids = query_gids(context, port.number, roots);
}

void add_details(ibv_device* device, const Roots& roots, DeviceInfo& info) {
    errno = 0;
    const Context context(ibv_open_device(device));
    if (context == nullptr) {
        info.problem = fmt::format("ibv_open_device: {}", describe(errno_cause(errno)));
        return;
    }
    add_limits(*context, info);
    for (PortInfo& port : info.ports) add_port(*context, roots, info, port);
}

std::string gid_type(unsigned type) {
    if (type == IBV_GID_TYPE_ROCE_V1) return "RoCE v1";
    return type == IBV_GID_TYPE_ROCE_V2 ? "RoCE v2" : "IB";
}

} // namespace

Census take_census(const Roots& roots) {
    Census census;
    census.missing_link = missing_class(roots);
    if (!census.missing_link.empty()) return census;
    const DeviceList list;
    bool one_usable = false;
    for (const std::string& name : device_names(roots)) {
        DeviceInfo info = read_device(roots, name);
        ibv_device* const device = list.find(name);
        info.problem = problem_of(roots, info, device != nullptr);
        if (info.problem.empty()) add_details(device, roots, info);
        one_usable |= info.problem.empty();
        census.devices.push_back(std::move(info));
    }
    if (one_usable) return census;
    for (const DeviceInfo& info : census.devices) {
        census.missing_link += fmt::format("{}{}: {}", census.missing_link.empty() ? "no usable RDMA device: " : "; ",
                                           info.name, info.problem);
    }
    return census;
}

Context open_context(const std::string& device, const Roots& roots) {
    const std::vector<std::string> names = device_names(roots);
    if (names.empty()) throw Error(ErrorCode::unavailable, missing_class(roots));
    if (std::find(names.begin(), names.end(), device) == names.end()) {
        throw Error(ErrorCode::unavailable,
                    fmt::format("there is no RDMA device {}; there are {}", device, fmt::join(names, ", ")));
    }
    const DeviceList list;
    ibv_device* const found = list.find(device);
    if (const std::string problem = problem_of(roots, read_device(roots, device), found != nullptr); !problem.empty()) {
        throw Error(ErrorCode::unavailable, fmt::format("{}: {}", device, problem));
    }
    errno = 0;
    Context context(ibv_open_device(found));
    if (context == nullptr) throw errno_error(errno, fmt::format("ibv_open_device of {}", device));
    return context;
}

std::vector<GidInfo> query_gids(ibv_context& context, int port, const Roots& roots) {
    ibv_port_attr attributes{};
    ibv_device_attr device{};
    if (ibv_query_port(&context, static_cast<std::uint8_t>(port), &attributes) != 0) return {};
    if (ibv_query_device(&context, &device) != 0) return {};
    // The call fills one table for all ports.
    std::vector<ibv_gid_entry> entries(static_cast<std::size_t>(attributes.gid_tbl_len) * device.phys_port_cnt);
    const ssize_t count = ibv_query_gid_table(&context, entries.data(), entries.size(), 0);
    const Netdevs netdevs = Netdevs::of_this_namespace();
    const std::string name = ibv_get_device_name(context.device);
    std::vector<GidInfo> gids;
    for (ssize_t i = 0; i < count; ++i) {
        const ibv_gid_entry& entry = entries[static_cast<std::size_t>(i)];
        if (static_cast<int>(entry.port_num) != port) continue;
        Gid gid{};
        std::memcpy(gid.data(), entry.gid.raw, gid.size());
        GidInfo info{static_cast<int>(entry.gid_index), gid_text(gid), gid_type(entry.gid_type), {}, false};
        info.netdev = gid_netdev(roots, name, port, info.index);
        info.netdev_is_here = netdevs.contains(info.netdev, entry.ndev_ifindex, info.gid);
        gids.push_back(std::move(info));
    }
    std::sort(gids.begin(), gids.end(), [](const GidInfo& a, const GidInfo& b) { return a.index < b.index; });
    return gids;
}

} // namespace verbena::verbs
