/// A queue pair's life, what it says about itself, how a peer ends.
#include "reliable/queue_pair.hpp"

#include <algorithm>
#include <cerrno>
#include <numeric>

#include <fmt/format.h>

#include "reliable/address.hpp"
#include "reliable/completion_queue.hpp"
#include "reliable/device.hpp"

namespace verbena::reliable {
namespace {

/// Enough for a header and a small message: such packets are copied while posting and need no completion.
constexpr std::uint32_t inline_bytes_wanted = 256;

CompletionQueue& own(wire::CompletionQueue* queue, const Device& device) {
    if (auto* const ours = dynamic_cast<CompletionQueue*>(queue)) return *ours;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a queue pair on {} needs completion queues of it", device.describe()));
}

} // namespace

QueuePair::QueuePair(Device& device, const wire::QueuePairOptions& options)
    : device_(device),
      options_(options),
      send_cq_(own(options.send_cq, device)),
      receive_cq_(own(options.receive_cq, device)),
      session_(device.random()),
      first_sequence_(static_cast<Sequence>(device.random())),
      requests_(std::max(options.send_depth, 1u)),
      free_requests_(requests_.size()),
      receives_(std::max(options.receive_depth, 1u)),
      free_receives_(receives_.size()),
      posted_receives_(receives_.size()) {
    std::iota(free_requests_.rbegin(), free_requests_.rend(), 0u);
    std::iota(free_receives_.rbegin(), free_receives_.rend(), 0u);
    granted_.send_depth = static_cast<std::uint32_t>(requests_.size());
    granted_.receive_depth = static_cast<std::uint32_t>(receives_.size());
    granted_.send_sges = std::clamp(options.send_sges, 1u, most_sges);
    granted_.receive_sges = std::clamp(options.receive_sges, 1u, most_sges);
    granted_.max_read_atomic = options.max_read_atomic;
    open_native();
    send_cq_.attach(*this);
    if (&receive_cq_ != &send_cq_) receive_cq_.attach(*this);
}

QueuePair::~QueuePair() {
    send_cq_.detach(*this);
    receive_cq_.detach(*this);
    native_.reset(); // first of all: the device may write into the buffers for as long as it lives
}

void QueuePair::open_native() {
    wire::Device& below = device_.datagrams();
    const Options& wanted = device_.options();
    packet_bytes_ = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(below.capabilities().max_message_bytes, options_.max_mtu_bytes));
    native_cq_ = below.create_completion_queue(wanted.send_depth + wanted.receive_packets);
    wire::QueuePairOptions asked = options_;
    asked.send_cq = asked.receive_cq = native_cq_.get();
    asked.send_depth = wanted.send_depth;
    asked.receive_depth = wanted.receive_packets;
    asked.send_sges = asked.receive_sges = 1;
    asked.inline_bytes = std::min(inline_bytes_wanted, packet_bytes_);
    native_ = below.create_queue_pair(asked);
    inline_bytes_ = native_->granted().inline_bytes;
    // No more than was asked for is used: that much the completion queue holds.
    const std::uint32_t depth = std::min(wanted.send_depth, native_->granted().send_depth);
    const std::uint32_t buffers = std::min(wanted.receive_packets, native_->granted().receive_depth);
    ledger_.emplace(depth, below.accounting().retirement);
    packet_of_slot_.assign(depth, nobody);
    packets_.emplace(below, wanted.packets, packet_bytes_);
    receive_stride_ = below.capabilities().grh_bytes + packet_bytes_;
    receive_memory_.resize(buffers * receive_stride_);
    receive_region_ = below.register_memory(receive_memory_, Access::local_write);
    receive_bytes_.resize(buffers);
    most_buffers_waiting_ = buffers / 2;
    for (std::uint32_t buffer = 0; buffer < buffers; ++buffer) repost(buffer);
    if (unposted_.empty()) return;
    throw Error(ErrorCode::exhausted, fmt::format("{}: {} of {} receive buffers were refused",
                                                  native_->describe().local, unposted_.size(), buffers));
}

wire::Address QueuePair::address() const {
    const wire::Address native = native_->address();
    EndAddress end;
    end.rank = device_.options().rank;
    end.session = session_;
    end.first_sequence = first_sequence_;
    end.packet_bytes = packet_bytes_;
    end.queue_pair = native_->number();
    end.native = native;
    return encode(end);
}

void QueuePair::connect(std::span<const std::byte>) {
    throw Error(ErrorCode::invalid_argument, "a queue pair for all peers has no one peer to connect to: resolve() it");
}

wire::PeerHandle QueuePair::resolve(std::span<const std::byte> remote) {
    const std::optional<EndAddress> end = decode(remote);
    if (!end) {
        throw Error(ErrorCode::protocol_violation,
                    fmt::format("the peer gave {} bytes that are no address of a UD queue pair", remote.size()),
                    "both ends must run the same version of verbena and the same setting transport");
    }
    Peer peer(first_sequence_, end->first_sequence);
    peer.native = native_->resolve(end->native);
    peer.session = end->session;
    peer.rank = end->rank;
    peer.queue_pair = end->queue_pair;
    peer.packet_bytes = std::min(packet_bytes_, end->packet_bytes);
    peers_.push_back(std::move(peer));
    packets_->shares.add_peer();
    if (by_rank_.size() <= end->rank) by_rank_.resize(end->rank + 1, nobody);
    by_rank_[end->rank] = static_cast<std::uint32_t>(peers_.size() - 1);
    return {peers_.size()};
}

Peer* QueuePair::find(wire::PeerHandle peer) noexcept {
    return peer.value == 0 || peer.value > peers_.size() ? nullptr : &peers_[peer.value - 1];
}

std::uint32_t QueuePair::index_of(const Peer& peer) const noexcept {
    return static_cast<std::uint32_t>(&peer - peers_.data());
}

wire::QueuePairInfo QueuePair::describe() const {
    wire::QueuePairInfo info = native_->describe();
    info.state = failed_ ? wire::QueuePairState::err : wire::QueuePairState::ready;
    info.transport = "UD";
    info.packets_refused = packets_refused_;
    return info;
}

wire::QueuePairInfo QueuePair::describe_peer(wire::PeerHandle handle) const {
    if (handle.value == 0 || handle.value > peers_.size()) return describe();
    const Peer& peer = peers_[handle.value - 1];
    wire::QueuePairInfo info = native_->describe_peer(peer.native);
    info.state = failed_ || peer.is_lost ? wire::QueuePairState::err : wire::QueuePairState::ready;
    info.transport = "UD";
    info.path_mtu_bytes = peer.packet_bytes;
    info.packets_sent = peer.packets_sent;
    info.packets_repeated = peer.packets_repeated;
    info.packets_duplicated = peer.packets_duplicated;
    info.packets_refused = packets_refused_;
    if (const auto found = failures_.find(static_cast<std::uint32_t>(handle.value - 1)); found != failures_.end()) {
        info.failure = found->second;
    }
    return info;
}

void QueuePair::end_peer(Peer& peer, wire::CompletionStatus first, const std::string& why, bool tell) {
    if (peer.is_lost) return;
    peer.is_lost = true;
    const std::uint32_t index = index_of(peer);
    if (!why.empty()) failures_.emplace(index, why);
    peer.sends.abandon(windows_, [&](std::uint32_t packet) { release(packet); });
    for (std::uint32_t response = peer.responses.head; response != nobody; response = responses_[response].next) {
        free_responses_.push_back(response);
    }
    peer.requests = peer.responses = {};
    for (std::uint64_t waits = peer.receives.arrived(), at = 0; waits != 0; waits >>= 1, ++at) {
        if ((waits & 1) == 0) continue;
        --buffers_waiting_;
        repost(peer.waiting->buffers[(peer.receives.expected() + at) % ReceiveWindow::most_packets]);
    }
    if (peer.waiting) waitings_.give(std::move(peer.waiting));
    if (peer.receive != nobody) { // half filled: another message may have it
        posted_receives_[receives_tail_++ % posted_receives_.size()] = peer.receive;
        peer.receive = nobody;
    }
    wire::CompletionStatus status = first;
    for (std::uint32_t request = 0; request < requests_.size(); ++request) {
        if (!requests_[request].active || requests_[request].peer != index) continue;
        complete(request, status);
        status = wire::CompletionStatus::flushed;
    }
    if (tell) device_.raise({wire::AsyncEventKind::peer_unreachable, index + 1});
}

void QueuePair::abandon(wire::PeerHandle handle) {
    if (Peer* const peer = find(handle)) end_peer(*peer, wire::CompletionStatus::flushed, {}, false);
}

void QueuePair::fail() {
    if (failed_) return;
    for (Peer& peer : peers_) end_peer(peer, wire::CompletionStatus::flushed, {}, false);
    failed_ = true;
    for (; receives_head_ != receives_tail_; ++receives_head_) {
        const std::uint32_t slot = posted_receives_[receives_head_ % posted_receives_.size()];
        complete_receive(slot, wire::CompletionStatus::flushed, 0, nullptr);
    }
    native_->fail();
}

} // namespace verbena::reliable
