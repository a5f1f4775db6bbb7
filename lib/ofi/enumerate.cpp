#include "ofi/enumerate.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

namespace verbena::ofi {
namespace {

constexpr int api_version = FI_VERSION(1, 17);

/// What "tcp" stands for, best first. The figures behind the order are in docs/providers-libfabric.md.
constexpr std::array<std::string_view, 3> tcp_providers = {"net;ofi_rxm", "tcp;ofi_rxm", "net"};

/// FI_MR_ENDPOINT is left out: a region would have to name the one queue pair that it serves.
constexpr int registration_modes = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;

Info hints_for(std::string_view provider, std::uint64_t optional_caps, std::uint64_t order) {
    Info hints(fi_allocinfo());
    if (!hints) throw std::bad_alloc();
    hints->caps = FI_MSG | FI_RMA | optional_caps;
    hints->mode = FI_CONTEXT | FI_CONTEXT2 | FI_RX_CQ_DATA;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = registration_modes;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->tx_attr->msg_order = order;
    hints->rx_attr->msg_order = order;
    if (!provider.empty()) hints->fabric_attr->prov_name = strndup(provider.data(), provider.size());
    return hints;
}

Info get_info(const Info& hints, const char* source) {
    fi_info* found = nullptr;
    if (fi_getinfo(api_version, source, nullptr, source != nullptr ? FI_SOURCE : 0, hints.get(), &found) != 0)
        return {};
    return Info(found);
}

std::uint32_t clamp(std::size_t value) { return static_cast<std::uint32_t>(std::min<std::size_t>(value, UINT32_MAX)); }

std::string problem_of(const fi_info& info) {
    if (info.domain_attr->cq_data_size < sizeof(std::uint32_t)) {
        return fmt::format("carries {} bytes of immediate data (cq_data_size), 4 are needed",
                           info.domain_attr->cq_data_size);
    }
    return {};
}

DeviceInfo describe_provider(const fi_info& info) {
    DeviceInfo device;
    device.backend = "ofi";
    device.driver = info.fabric_attr->prov_name;
    device.name = device.driver;
    device.same_host_only = device.driver == "shm";
    device.limits.max_message_bytes = std::min<std::uint64_t>(info.ep_attr->max_msg_size, max_message_bytes);
    device.limits.max_queue_pairs = clamp(info.domain_attr->ep_cnt);
    device.limits.max_work_requests = clamp(info.tx_attr->size);
    device.limits.max_sges = clamp(std::min(info.tx_attr->iov_limit, info.rx_attr->iov_limit));
    device.limits.max_completions = max_completions;
    device.limits.max_read_atomic = device.limits.max_work_requests;
    device.limits.max_read_atomic_initiator = device.limits.max_work_requests;
    device.problem = problem_of(info);
    PortInfo port;
    port.state = PortState::active;
    device.ports.push_back(port);
    return device;
}

bool is_listed(const std::vector<DeviceInfo>& devices, std::string_view provider) {
    return std::any_of(devices.begin(), devices.end(), [&](const auto& device) { return device.driver == provider; });
}

/// Appends each provider of `list` once; libfabric names one several times, for each address and each way to layer it.
void append(std::vector<DeviceInfo>& devices, const fi_info* list, const std::string& problem) {
    for (const fi_info* info = list; info != nullptr; info = info->next) {
        if (is_listed(devices, info->fabric_attr->prov_name)) continue;
        devices.push_back(describe_provider(*info));
        if (!problem.empty()) devices.back().problem = problem;
    }
}

/// The best provider over TCP gets the plain name, so that a job's settings hold for other releases of libfabric.
void name_tcp(std::vector<DeviceInfo>& devices) {
    for (const std::string_view provider : tcp_providers) {
        for (DeviceInfo& device : devices) {
            if (device.driver != provider || !device.problem.empty()) continue;
            device.name = "tcp";
            return;
        }
    }
}

int rank_of(const DeviceInfo& device) { return device.name == "tcp" ? 0 : device.name == "shm" ? 1 : 2; }

} // namespace

std::vector<DeviceInfo> enumerate_devices() {
    std::vector<DeviceInfo> devices;
    append(devices, get_info(hints_for({}, 0, FI_ORDER_SAS), nullptr).get(), {});
    append(devices, get_info(hints_for({}, 0, 0), nullptr).get(),
           "does not keep sends in order (FI_ORDER_SAS is not granted)");
    name_tcp(devices);
    std::stable_sort(devices.begin(), devices.end(),
                     [](const auto& left, const auto& right) { return rank_of(left) < rank_of(right); });
    return devices;
}

const DeviceInfo* find_device(std::span<const DeviceInfo> devices, std::string_view name) {
    for (const DeviceInfo& device : devices) {
        if (device.name == name || device.driver == name) return &device;
    }
    return nullptr;
}

std::string names_of(std::span<const DeviceInfo> devices) {
    std::string names;
    for (const DeviceInfo& device : devices) names += (names.empty() ? "" : ", ") + device.name;
    return names;
}

Info query_provider(const std::string& provider, const std::string& source) {
    constexpr std::array<std::uint64_t, 4> optional_caps = {FI_ATOMIC | FI_FENCE, FI_ATOMIC, FI_FENCE, 0};
    for (const std::uint64_t caps : optional_caps) {
        const Info list = get_info(hints_for(provider, caps, FI_ORDER_SAS), source.empty() ? nullptr : source.c_str());
        for (const fi_info* info = list.get(); info != nullptr; info = info->next) {
            if (provider == info->fabric_attr->prov_name) return Info(fi_dupinfo(info));
        }
    }
    return {};
}

} // namespace verbena::ofi
