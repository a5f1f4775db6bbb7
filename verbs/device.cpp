#include "verbs/device.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>

#include <fmt/format.h>

#include "verbs/completion_queue.hpp"
#include "verbs/enumerate.hpp"
#include "verbs/errors.hpp"
#include "verbs/memory_region.hpp"
#include "verbs/queue_pair.hpp"
#include "verbs/translate.hpp"

namespace verbena::verbs {
namespace {

constexpr std::uint32_t soft_roce_vendor = 0xffffff;

PortInfo port_info(const std::string& device, int number) {
    const DeviceInfo info = read_device({}, device);
    const auto port = std::find_if(info.ports.begin(), info.ports.end(),
                                   [number](const PortInfo& each) { return each.number == number; });
    if (port != info.ports.end()) return *port;
    throw Error(ErrorCode::unavailable, fmt::format("{} has no port {}; it has {}", device, number, info.ports.size()));
}

} // namespace

Device::Device(const Selection& selection) : context_(open_context(selection.device)) {
    fcntl(context_->async_fd, F_SETFL, fcntl(context_->async_fd, F_GETFL) | O_NONBLOCK);
    endpoint_.device = selection.device;
    endpoint_.port = static_cast<std::uint8_t>(selection.port);
    query_device();
    query_port(selection);
    choose_partition();
    if (selection.transport == "ud") become_datagram();
    errno = 0;
    protection_domain_.reset(ibv_alloc_pd(context_.get()));
    if (protection_domain_ == nullptr) throw errno_error(errno, "ibv_alloc_pd on " + describe());
}

void Device::query_device() {
    if (const int error = ibv_query_device(context_.get(), &attributes_); error != 0) {
        throw errno_error(error, "ibv_query_device of " + endpoint_.device);
    }
    capabilities_.atomics = attributes_.atomic_cap != IBV_ATOMIC_NONE;
    capabilities_.max_completions = static_cast<std::uint32_t>(attributes_.max_cqe);
    // Everything but Soft-RoCE moves its tail in poll_cq only (rdma-core, providers/*: the send queue's `tail`).
    if (attributes_.vendor_id == soft_roce_vendor) accounting_.retirement = wire::Retirement::at_execution;
}

void Device::query_port(const Selection& selection) {
    PortInfo info = port_info(selection.device, selection.port);
    info.gids = query_gids(*context_, selection.port);
    if (const std::string problem = port_problem(info); !problem.empty()) {
        throw Error(ErrorCode::unavailable, fmt::format("{} port {}: {}", selection.device, selection.port, problem));
    }
    ibv_port_attr attributes{};
    if (const int error = ibv_query_port(context_.get(), endpoint_.port, &attributes); error != 0) {
        throw errno_error(error, fmt::format("ibv_query_port of {} port {}", selection.device, selection.port));
    }
    endpoint_.lid = attributes.lid;
    endpoint_.link_layer =
        attributes.link_layer == IBV_LINK_LAYER_ETHERNET ? LinkLayer::ethernet : LinkLayer::infiniband;
    endpoint_.active_mtu_bytes = static_cast<std::uint16_t>(mtu_bytes(attributes.active_mtu));
    pkey_table_length_ = attributes.pkey_tbl_len;
    capabilities_.max_message_bytes = attributes.max_msg_sz;
    take_gid(info, selection.gid_index);
}

void Device::take_gid(const PortInfo& port, int index) {
    const auto gid =
        std::find_if(port.gids.begin(), port.gids.end(), [index](const GidInfo& each) { return each.index == index; });
    if (gid == port.gids.end()) {
        throw Error(ErrorCode::unavailable,
                    fmt::format("{} port {}: GID {} is empty", endpoint_.device, port.number, index),
                    "`verbena info` lists the GIDs there are");
    }
    inet_pton(AF_INET6, gid->gid.c_str(), endpoint_.gid.data());
    endpoint_.gid_index = static_cast<std::uint16_t>(gid->index);
    endpoint_.gid_type = gid_type_code(gid->type);
    endpoint_.netdev = gid->netdev;
}

void Device::choose_partition() {
    if (endpoint_.link_layer == LinkLayer::ethernet) return; // RoCE knows the default partition only
    std::vector<std::uint16_t> table(pkey_table_length_);
    for (std::size_t index = 0; index < table.size(); ++index) {
        __be16 pkey = 0;
        if (ibv_query_pkey(context_.get(), endpoint_.port, static_cast<int>(index), &pkey) == 0)
            table[index] = ntohs(pkey);
    }
    const int chosen = choose_pkey(table);
    if (chosen < 0) {
        throw Error(ErrorCode::unavailable,
                    fmt::format("{} port {} is in no partition: its table of {} P_Keys is empty", endpoint_.device,
                                endpoint_.port, table.size()),
                    "the subnet manager gives partition keys: look at its partition configuration");
    }
    pkey_index_ = static_cast<std::uint16_t>(chosen);
}

void Device::become_datagram() {
    capabilities_.connected = capabilities_.reliable = capabilities_.ordered = false;
    capabilities_.rdma_read = capabilities_.rdma_write = capabilities_.write_with_imm = false;
    capabilities_.atomics = capabilities_.native_fence = false;
    capabilities_.max_message_bytes = endpoint_.active_mtu_bytes; // Soft-RoCE loses longer ones without a word
    capabilities_.grh_bytes = sizeof(ibv_grh);
}

std::string Device::describe() const { return describe_endpoint(endpoint_); }

std::unique_ptr<wire::CompletionQueue> Device::create_completion_queue(std::uint32_t depth) {
    return std::make_unique<CompletionQueue>(*this, depth);
}

std::unique_ptr<wire::QueuePair> Device::create_queue_pair(const wire::QueuePairOptions& options) {
    return std::make_unique<QueuePair>(*this, options);
}

std::unique_ptr<wire::MemoryRegion> Device::register_memory(std::span<std::byte> memory, Access access) {
    return std::make_unique<MemoryRegion>(*this, memory, access);
}

std::size_t Device::poll_async(std::span<wire::AsyncEvent> out) {
    std::size_t filled = 0;
    if (broken_completion_queue_ && !out.empty()) {
        broken_completion_queue_ = false;
        out[filled++] = {wire::AsyncEventKind::completion_queue_error, 0};
    }
    ibv_async_event event{};
    while (filled < out.size() && ibv_get_async_event(context_.get(), &event) == 0) {
        const auto translated = event_of(event);
        ibv_ack_async_event(&event); // destroying its object waits for this
        if (translated) out[filled++] = *translated;
    }
    return filled;
}

std::unique_ptr<wire::Device> open_device(const Selection& selection) { return std::make_unique<Device>(selection); }

} // namespace verbena::verbs
