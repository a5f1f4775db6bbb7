/// Life of a queue pair: creation, the way to RTS, its end.
#include "verbs/queue_pair.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <random>

#include <fmt/format.h>

#include "verbs/completion_queue.hpp"
#include "verbs/device.hpp"
#include "verbs/errors.hpp"
#include "verbs/translate.hpp"

namespace verbena::verbs {
namespace {

CompletionQueue* queue_of(wire::CompletionQueue* queue, const Device& device) {
    const auto ours = dynamic_cast<CompletionQueue*>(queue);
    if (ours == nullptr || &ours->device() != &device) {
        throw Error(ErrorCode::invalid_argument,
                    "a queue pair on " + device.describe() + " needs completion queues of it");
    }
    return ours;
}

std::uint32_t random_psn() { return std::random_device()() & 0xffffff; }

/// Never 0. The high bit would make it one of the privileged Q_Keys (IBTA 10.2.5).
std::uint32_t random_qkey() { return (std::random_device()() & 0x7fffffff) | 1; }

ibv_mtu mtu_code(std::uint32_t bytes) {
    return static_cast<ibv_mtu>(std::clamp(static_cast<int>(std::bit_width(bytes)) - 8, 1, 5));
}

/// InfiniBand needs a global route only between subnets; RoCE always has one.
bool needs_global_route(const QueuePairAddress& local, const QueuePairAddress& remote) {
    return local.link_layer == LinkLayer::ethernet ||
           !std::equal(local.gid.begin(), local.gid.begin() + 8, remote.gid.begin());
}

ibv_ah_attr route(const QueuePairAddress& local, const QueuePairAddress& remote) {
    ibv_ah_attr attributes{};
    attributes.port_num = local.port;
    attributes.dlid = remote.lid;
    attributes.is_global = needs_global_route(local, remote) ? 1 : 0;
    std::memcpy(attributes.grh.dgid.raw, remote.gid.data(), remote.gid.size());
    attributes.grh.sgid_index = static_cast<std::uint8_t>(local.gid_index);
    attributes.grh.hop_limit = 64;
    return attributes;
}

/// What to look at when a step towards RTS was refused; EINVAL and ETIMEDOUT mean the route as a rule.
std::string route_advice(int code, const QueuePairAddress& local, const QueuePairAddress& remote) {
    if (local.link_layer == LinkLayer::infiniband) return "`ibv_devinfo` on both ends shows whether LIDs are assigned";
    if (code == ENODEV) {
        return fmt::format(
            "the interface {} is not in this network namespace, or gone: choose another entry with gid-index",
            local.netdev);
    }
    const std::string text = gid_text(remote.gid);
    const std::string address = reach_of(text) == Reach::ipv4 ? text.substr(text.rfind(':') + 1) : text;
    return fmt::format("the remote GID must be reachable from the local one's interface: ping -c 1 {}-I {} {}",
                       reach_of(text) == Reach::ipv4 ? "" : "-6 ", local.netdev, address);
}

void check_match(const QueuePairAddress& local, const QueuePairAddress& remote) {
    if ((local.qkey == 0) != (remote.qkey == 0)) {
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format("{} and {} cannot be connected: one is RC, the other UD", describe(local), describe(remote)),
            "give every rank the same setting transport");
    }
    if (local.link_layer == remote.link_layer && (local.gid_type == remote.gid_type)) return;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} and {} cannot be connected: link layer or RoCE version differ", describe(local),
                            describe(remote)),
                "choose devices of one kind on both ends (device, gid-index)");
}

} // namespace

QueuePair::QueuePair(Device& device, const wire::QueuePairOptions& options)
    : device_(device),
      options_(options),
      send_queue_(queue_of(options.send_cq, device)),
      receive_queue_(queue_of(options.receive_cq, device)),
      local_(device.endpoint()) {
    create();
    local_.number = queue_pair_->qp_num;
    local_.psn = random_psn();
    if (device.is_datagram()) local_.qkey = random_qkey();
    local_.max_read_atomic =
        static_cast<std::uint16_t>(std::min<int>(device.attributes().max_qp_rd_atom, options.max_read_atomic));
    to_init();
    if (device.is_datagram()) to_datagram_service();
    prepare_slots();
    ++device_.queue_pair_count();
}

QueuePair::~QueuePair() {
    queue_pair_.reset();
    send_queue_->purge(local_.number);
    if (receive_queue_ != send_queue_) receive_queue_->purge(local_.number);
    --device_.queue_pair_count();
}

/// The inline limit cannot be queried, only tried: it differs by provider and type.
void QueuePair::create() {
    for (std::uint32_t inline_bytes = options_.inline_bytes;; inline_bytes /= 2) {
        ibv_qp_init_attr attributes{};
        attributes.send_cq = &send_queue_->native();
        attributes.recv_cq = &receive_queue_->native();
        attributes.cap = {options_.send_depth, options_.receive_depth, options_.send_sges, options_.receive_sges,
                          inline_bytes};
        attributes.qp_type = device_.is_datagram() ? IBV_QPT_UD : IBV_QPT_RC;
        errno = 0;
        queue_pair_.reset(ibv_create_qp(&device_.protection_domain(), &attributes));
        if (queue_pair_ != nullptr) {
            granted_ = {attributes.cap.max_send_wr,  attributes.cap.max_recv_wr,     attributes.cap.max_send_sge,
                        attributes.cap.max_recv_sge, attributes.cap.max_inline_data, 0};
            return;
        }
        if (inline_bytes == 0) break;
    }
    const ibv_device_attr& limits = device_.attributes();
    throw errno_error(
        errno,
        fmt::format(
            "ibv_create_qp on {} for {} send and {} receive requests of {} and {} SGEs (max_qp_wr {}, max_sge {}; "
            "{} queue pairs of this process are on it, max_qp {})",
            device_.describe(), options_.send_depth, options_.receive_depth, options_.send_sges, options_.receive_sges,
            limits.max_qp_wr, limits.max_sge, device_.queue_pair_count(), limits.max_qp));
}

void QueuePair::prepare_slots() {
    sends_.resize(slot_count);
    receives_.resize(slot_count);
    send_sges_.resize(slot_count * granted_.send_sges);
    receive_sges_.resize(slot_count * granted_.receive_sges);
    for (std::size_t i = 0; i < slot_count; ++i) {
        const bool last = i + 1 == slot_count;
        sends_[i].sg_list = send_sges_.data() + i * granted_.send_sges;
        sends_[i].next = last ? nullptr : &sends_[i + 1];
        receives_[i].sg_list = receive_sges_.data() + i * granted_.receive_sges;
        receives_[i].next = last ? nullptr : &receives_[i + 1];
    }
}

void QueuePair::modify(ibv_qp_attr& attributes, int mask, const char* step, const QueuePairAddress* remote) {
    const int result = ibv_modify_qp(queue_pair_.get(), &attributes, mask);
    if (result == 0) return;
    const Cause cause = errno_cause(result == -1 ? errno : result);
    std::string what = fmt::format("{} ({}, active MTU {}): {}", step, verbs::describe(local_), local_.active_mtu_bytes,
                                   verbena::describe(cause));
    if (remote == nullptr) throw Error(error_code_of(cause.code), what, {}, cause);
    what += fmt::format("; towards {}, active MTU {}, path MTU {}", verbs::describe(*remote), remote->active_mtu_bytes,
                        path_mtu_bytes_);
    throw Error(error_code_of(cause.code), what, route_advice(cause.code, local_, *remote), cause);
}

void QueuePair::to_init() {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.pkey_index = device_.pkey_index();
    attributes.port_num = local_.port;
    if (device_.is_datagram()) {
        attributes.qkey = local_.qkey;
        modify(attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, "ibv_modify_qp RESET to INIT",
               nullptr);
        return;
    }
    attributes.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
    if (device_.capabilities().atomics) attributes.qp_access_flags |= IBV_ACCESS_REMOTE_ATOMIC;
    modify(attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
           "ibv_modify_qp RESET to INIT", nullptr);
}

void QueuePair::to_datagram_service() {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTR;
    modify(attributes, IBV_QP_STATE, "ibv_modify_qp INIT to RTR", nullptr);
    attributes.qp_state = IBV_QPS_RTS;
    attributes.sq_psn = local_.psn;
    modify(attributes, IBV_QP_STATE | IBV_QP_SQ_PSN, "ibv_modify_qp RTR to RTS", nullptr);
}

void QueuePair::to_ready_to_receive(const QueuePairAddress& remote) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTR;
    attributes.path_mtu = mtu_code(path_mtu_bytes_);
    attributes.dest_qp_num = remote.number;
    attributes.rq_psn = remote.psn;
    attributes.max_dest_rd_atomic = static_cast<std::uint8_t>(local_.max_read_atomic);
    attributes.min_rnr_timer = options_.min_rnr_timer;
    attributes.ah_attr = route(local_, remote);
    modify(attributes,
           IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
               IBV_QP_MIN_RNR_TIMER,
           "ibv_modify_qp INIT to RTR", &remote);
}

void QueuePair::to_ready_to_send(const QueuePairAddress& remote) {
    const int initiator = std::min<int>(device_.attributes().max_qp_init_rd_atom, options_.max_read_atomic);
    granted_.max_read_atomic = static_cast<std::uint32_t>(std::min<int>(initiator, remote.max_read_atomic));
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTS;
    attributes.sq_psn = local_.psn;
    attributes.timeout = options_.timeout;
    attributes.retry_cnt = options_.retry_count;
    attributes.rnr_retry = options_.rnr_retry;
    attributes.max_rd_atomic = static_cast<std::uint8_t>(granted_.max_read_atomic);
    modify(attributes,
           IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
               IBV_QP_MAX_QP_RD_ATOMIC,
           "ibv_modify_qp RTR to RTS", &remote);
}

void QueuePair::connect(std::span<const std::byte> remote_address) {
    if (device_.is_datagram()) {
        throw Error(ErrorCode::invalid_argument, "a UD queue pair has no one peer to connect to: resolve() it");
    }
    if (remote_) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{} is connected already, to {}", verbs::describe(local_), verbs::describe(*remote_)));
    }
    const QueuePairAddress remote = decode(remote_address);
    check_match(local_, remote);
    path_mtu_bytes_ = std::bit_floor(
        std::min<std::uint32_t>({local_.active_mtu_bytes, remote.active_mtu_bytes, options_.max_mtu_bytes}));
    to_ready_to_receive(remote);
    to_ready_to_send(remote);
    remote_ = remote;
}

wire::PeerHandle QueuePair::resolve(std::span<const std::byte> remote_address) {
    if (!device_.is_datagram()) {
        throw Error(ErrorCode::invalid_argument, "a reliable connected queue pair has one peer: connect() it");
    }
    const QueuePairAddress remote = decode(remote_address);
    check_match(local_, remote);
    ibv_ah_attr attributes = route(local_, remote);
    errno = 0;
    AddressHandle handle(ibv_create_ah(&device_.protection_domain(), &attributes));
    if (handle == nullptr) {
        const Cause cause = errno_cause(errno);
        throw Error(error_code_of(cause.code),
                    fmt::format("ibv_create_ah ({}) towards {}: {}", verbs::describe(local_), verbs::describe(remote),
                                verbena::describe(cause)),
                    route_advice(cause.code, local_, remote), cause);
    }
    peers_.push_back({std::move(handle), remote});
    return {peers_.size()};
}

wire::QueuePairInfo QueuePair::describe_peer(wire::PeerHandle peer) const {
    wire::QueuePairInfo info = describe();
    if (peer.value == 0 || peer.value > peers_.size()) return info;
    const QueuePairAddress& remote = peers_[peer.value - 1].address;
    info.remote = verbs::describe(remote);
    info.remote_mtu_bytes = remote.active_mtu_bytes;
    info.path_mtu_bytes = std::min(info.local_mtu_bytes, info.remote_mtu_bytes);
    return info;
}

void QueuePair::fail() {
    failed_ = true;
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_ERR;
    // A refusal means that the device is gone; there is nothing left that could be flushed.
    (void)ibv_modify_qp(queue_pair_.get(), &attributes, IBV_QP_STATE);
}

std::optional<ibv_qp_state> QueuePair::query_state() const {
    ibv_qp_attr attributes{};
    ibv_qp_init_attr unused{};
    if (ibv_query_qp(queue_pair_.get(), &attributes, IBV_QP_STATE, &unused) != 0) return std::nullopt;
    return attributes.qp_state;
}

wire::QueuePairInfo QueuePair::describe() const {
    wire::QueuePairInfo info;
    info.state = state_of(query_state().value_or(IBV_QPS_ERR));
    info.local = verbs::describe(local_);
    info.local_mtu_bytes = local_.active_mtu_bytes;
    info.transport = device_.is_datagram() ? "UD" : "RC";
    if (!remote_) return info;
    info.remote = verbs::describe(*remote_);
    info.remote_mtu_bytes = remote_->active_mtu_bytes;
    info.path_mtu_bytes = path_mtu_bytes_;
    return info;
}

} // namespace verbena::verbs
