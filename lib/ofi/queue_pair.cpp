/// Set-up and end of a queue pair; posting is in queue_pair_datapath.cpp.
#include "ofi/queue_pair.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>

#include "ofi/address.hpp"
#include "ofi/completion_queue.hpp"
#include "ofi/errors.hpp"

namespace verbena::ofi {
namespace {

constexpr const char* foreign_address_advice =
    "no interface of this host has that address: give a local one (or 0.0.0.0) to the setting bind, and the one that "
    "peers see to advertise";

std::uint32_t least(std::uint32_t asked, std::size_t offered) {
    return static_cast<std::uint32_t>(std::min<std::size_t>(asked, offered));
}

wire::Granted grant(const wire::QueuePairOptions& options, const fi_info& info) {
    wire::Granted granted;
    granted.send_depth = least(options.send_depth, info.tx_attr->size);
    granted.receive_depth = least(options.receive_depth, info.rx_attr->size);
    granted.send_sges =
        least(std::max(options.send_sges, 1u), std::min(info.tx_attr->iov_limit, info.tx_attr->rma_iov_limit));
    granted.receive_sges = least(std::max(options.receive_sges, 1u), info.rx_attr->iov_limit);
    granted.inline_bytes = least(options.inline_bytes, info.tx_attr->inject_size);
    granted.max_read_atomic = granted.send_depth;
    return granted;
}

std::string text_of(fid_av& table, const void* address) {
    std::string text(wire::max_address_bytes, '\0');
    std::size_t length = text.size();
    fi_av_straddr(&table, address, text.data(), &length);
    text.resize(std::min(text.find('\0'), text.size()));
    return text;
}

} // namespace

QueuePair::QueuePair(fid_domain& domain, const fi_info& info, const wire::Capabilities& capabilities,
                     const std::string& advertise, std::uint32_t number, const wire::QueuePairOptions& options,
                     std::chrono::nanoseconds peer_timeout)
    : capabilities_(capabilities),
      provider_(info.fabric_attr->prov_name),
      number_(number),
      delivery_(provider_ == "shm" ? 0 : FI_DELIVERY_COMPLETE),
      granted_(grant(options, info)),
      send_cq_(static_cast<CompletionQueue&>(*options.send_cq)),
      receive_cq_(static_cast<CompletionQueue&>(*options.receive_cq)),
      sends_(*this, false, granted_.send_depth),
      receives_(*this, true, granted_.receive_depth),
      iovs_(granted_.send_depth * granted_.send_sges),
      descriptors_(iovs_.size()),
      inlined_(std::size_t{granted_.send_depth} * granted_.inline_bytes),
      receive_iovs_(granted_.receive_sges),
      receive_descriptors_(granted_.receive_sges),
      peer_timeout_(peer_timeout) {
    fi_av_attr table_attr{};
    table_attr.type = info.domain_attr->av_type;
    fid_av* table = nullptr;
    ofi::check("fi_av_open", provider_, fi_av_open(&domain, &table_attr, &table, nullptr));
    peers_table_.reset(table);

    Info own_info(fi_dupinfo(&info));
    fid_ep* endpoint = nullptr;
    if (const int result = fi_endpoint(&domain, own_info.get(), &endpoint, nullptr); result != 0) {
        throw_error("fi_endpoint",
                    info.src_addr == nullptr ? provider_
                                             : fmt::format("{} at {}", provider_, text_of(*table, info.src_addr)),
                    result, result == -FI_EADDRNOTAVAIL ? foreign_address_advice : "");
    }
    endpoint_.reset(endpoint);
    ofi::check("fi_ep_bind (address vector)", provider_, fi_ep_bind(endpoint, &table->fid, 0));
    if (&send_cq_ == &receive_cq_) {
        ofi::check("fi_ep_bind (completion queue)", provider_,
                   fi_ep_bind(endpoint, &send_cq_.native().fid, FI_TRANSMIT | FI_RECV));
    } else {
        ofi::check("fi_ep_bind (send completion queue)", provider_,
                   fi_ep_bind(endpoint, &send_cq_.native().fid, FI_TRANSMIT));
        ofi::check("fi_ep_bind (receive completion queue)", provider_,
                   fi_ep_bind(endpoint, &receive_cq_.native().fid, FI_RECV));
    }
    ofi::check("fi_enable", provider_, fi_enable(endpoint));

    std::vector<std::byte> name(wire::max_address_bytes);
    std::size_t length = name.size();
    ofi::check("fi_getname", provider_, fi_getname(&endpoint->fid, name.data(), &length));
    name.resize(length);
    bound_ = text_of(*table, name.data());
    address_ = pack_address({provider_, advertise.empty() ? name : readdressed(name, advertise)});

    send_cq_.attach(*this, granted_.send_depth);
    receive_cq_.attach(*this, granted_.receive_depth);
}

QueuePair::~QueuePair() {
    if (endpoint_) {
        endpoint_.reset();
        // Their entries point at our slots.
        send_cq_.drain();
        receive_cq_.drain();
    }
    send_cq_.detach(*this, granted_.send_depth);
    receive_cq_.detach(*this, granted_.receive_depth);
}

wire::QueuePairInfo QueuePair::describe() const {
    wire::QueuePairInfo info;
    info.state = endpoint_ ? wire::QueuePairState::ready : wire::QueuePairState::err;
    info.local = fmt::format("{} {} qp {:#x}", provider_, bound_, number_);
    return info;
}

void QueuePair::connect(std::span<const std::byte>) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: a datagram queue pair is not connected to one peer", provider_), "use resolve()");
}

wire::PeerHandle QueuePair::resolve(std::span<const std::byte> remote) {
    const EndpointAddress peer = unpack_address(remote);
    if (peer.provider != provider_) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("this rank uses libfabric provider {}, the peer uses {}", provider_, peer.provider),
                    "give every rank the same setting device");
    }
    Peer entry;
    const int inserted = fi_av_insert(peers_table_.get(), peer.bytes.data(), 1, &entry.address, 0, nullptr);
    if (inserted != 1) {
        throw_error("fi_av_insert", fmt::format("{} of {}", provider_, text_of(*peers_table_, peer.bytes.data())),
                    inserted < 0 ? inserted : -FI_EINVAL);
    }
    peers_.push_back(entry);
    return {peers_.size()};
}

void QueuePair::fail() {
    if (!endpoint_) return;
    endpoint_.reset();
    send_cq_.drain();
    receive_cq_.drain();
    for (Peer& peer : peers_) peer.first_waiting = peer.last_waiting = no_slot;
    waiting_ = 0;
    flush(sends_);
    flush(receives_);
}

void QueuePair::flush(SlotTable& slots) {
    for (Slot& slot : slots.all()) {
        if (slot.state == Slot::State::outstanding) complete_in_error(slot, FI_ECANCELED);
    }
}

} // namespace verbena::ofi
