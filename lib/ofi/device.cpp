#include "ofi/device.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <rdma/fi_atomic.h>

#include "ofi/completion_queue.hpp"
#include "ofi/enumerate.hpp"
#include "ofi/errors.hpp"
#include "ofi/handle.hpp"
#include "ofi/memory_region.hpp"
#include "ofi/queue_pair.hpp"
#include "ofi/source_address.hpp"

namespace verbena::ofi {
namespace {

/// Fetch-add and compare-swap on 64 bits. The operands of a request lie in our slots, which are not registered.
bool has_atomics(fid_domain& domain, const fi_info& info) {
    if ((info.caps & FI_ATOMIC) == 0 || (info.domain_attr->mr_mode & FI_MR_LOCAL) != 0) return false;
    fi_atomic_attr attr{};
    return fi_query_atomic(&domain, FI_UINT64, FI_SUM, &attr, FI_FETCH_ATOMIC) == 0 &&
           fi_query_atomic(&domain, FI_UINT64, FI_CSWAP, &attr, FI_COMPARE_ATOMIC) == 0;
}

wire::Capabilities capabilities_of(fid_domain& domain, const fi_info& info) {
    wire::Capabilities capabilities;
    capabilities.connected = false;
    capabilities.reliable = true;
    capabilities.ordered = (info.tx_attr->msg_order & info.rx_attr->msg_order & FI_ORDER_SAS) != 0;
    // A write with immediate takes a receive, as on verbs, only where the provider says so; elsewhere it would complete
    // without one, and the accounting of receives above would not hold.
    capabilities.write_with_imm = (info.rx_attr->mode & FI_RX_CQ_DATA) != 0;
    // ofi_rxm grants this only without FI_ATOMIC, and shm only where it does not copy across memories.
    constexpr std::uint64_t behind_writes = FI_ORDER_WAW | FI_ORDER_RAW | FI_ORDER_SAW;
    capabilities.ordered_writes =
        (info.tx_attr->msg_order & info.rx_attr->msg_order & behind_writes) == behind_writes &&
        info.ep_attr->max_order_waw_size >= max_message_bytes;
    capabilities.atomics = has_atomics(domain, info);
    capabilities.native_fence = (info.caps & FI_FENCE) != 0;
    capabilities.needs_local_key = (info.domain_attr->mr_mode & FI_MR_LOCAL) != 0;
    capabilities.manual_progress = info.domain_attr->data_progress != FI_PROGRESS_AUTO;
    // shm moves RMA by process_vm_readv and process_vm_writev, which know no keys; who may do that may trace the
    // process. Its other way asks the peer, and leaves a request that the peer refuses unfinished for ever.
    capabilities.checks_remote_access = std::string_view(info.fabric_attr->prov_name) != "shm";
    capabilities.max_message_bytes = std::min<std::uint64_t>(info.ep_attr->max_msg_size, max_message_bytes);
    capabilities.max_completions = max_completions;
    return capabilities;
}

class Device final : public wire::Device {
  public:
    Device(const std::string& name, Info info, SourceAddress source, std::chrono::nanoseconds peer_timeout)
        : info_(std::move(info)), source_(std::move(source)), peer_timeout_(peer_timeout) {
        description_ = fmt::format("{} ({} on {})", name, info_->fabric_attr->prov_name, info_->domain_attr->name);
        fid_fabric* fabric = nullptr;
        check("fi_fabric", description_, fi_fabric(info_->fabric_attr, &fabric, nullptr));
        fabric_.reset(fabric);
        fid_domain* domain = nullptr;
        check("fi_domain", description_, fi_domain(fabric, info_.get(), &domain, nullptr));
        domain_.reset(domain);
        capabilities_ = capabilities_of(*domain, *info_);
    }

    [[nodiscard]] const wire::Capabilities& capabilities() const override { return capabilities_; }
    [[nodiscard]] const wire::Accounting& accounting() const override { return accounting_; }
    [[nodiscard]] std::string describe() const override { return description_; }

    std::unique_ptr<wire::CompletionQueue> create_completion_queue(std::uint32_t depth) override {
        if (depth > max_completions) {
            throw Error(ErrorCode::exhausted,
                        fmt::format("a completion queue on {} holds at most {} entries, {} were asked for",
                                    description_, max_completions, depth),
                        "lower send-depth or receive-window");
        }
        return std::make_unique<CompletionQueue>(*fabric_, *domain_, description_, depth);
    }

    std::unique_ptr<wire::QueuePair> create_queue_pair(const wire::QueuePairOptions& options) override {
        return std::make_unique<QueuePair>(*domain_, *info_, capabilities_, source_.advertise, ++last_queue_pair_,
                                           options, peer_timeout_);
    }

    std::unique_ptr<wire::MemoryRegion> register_memory(std::span<std::byte> memory, Access access) override {
        return std::make_unique<MemoryRegion>(*domain_, *info_, description_, memory, access);
    }

    /// libfabric reports the loss of a peer at the request that meets it, and has no ports to watch.
    std::size_t poll_async(std::span<wire::AsyncEvent>) override { return 0; }

  private:
    Info info_;
    SourceAddress source_;
    std::chrono::nanoseconds peer_timeout_;
    std::string description_;
    Handle<fid_fabric> fabric_;
    Handle<fid_domain> domain_;
    wire::Capabilities capabilities_;
    wire::Accounting accounting_{wire::Retirement::each_completion, true};
    std::uint32_t last_queue_pair_ = 0;
};

} // namespace

std::unique_ptr<wire::Device> open_device(const DeviceInfo& device, const Settings& settings) {
    SourceAddress source;
    if (!device.same_host_only) {
        const std::vector<InterfaceAddress> interfaces = interface_addresses();
        source = choose_source(settings, interfaces, route_source(host_part(settings.text("store"))));
    }
    Info info = query_provider(device.driver, source.bind);
    if (!info) {
        throw Error(ErrorCode::unavailable,
                    fmt::format("libfabric provider {} offers no endpoint at address \"{}\" ({})", device.driver,
                                source.bind, source.reason),
                    "`ip address` lists the addresses of this host; where peers see another one, give the local one to "
                    "the setting bind and theirs to advertise");
    }
    return std::make_unique<Device>(device.name, std::move(info), std::move(source), settings.duration("peer-timeout"));
}

} // namespace verbena::ofi
