/// Packets arrive: who sent them, what they acknowledge, in which order they are taken in. Hot path.
#include <algorithm>

#include "reliable/device.hpp"
#include "reliable/queue_pair.hpp"

namespace verbena::reliable {
namespace {

/// An acknowledgement of its own goes out for so many packets, or when this time has passed and nothing went that way
/// which could carry it.
constexpr std::uint32_t packets_an_acknowledgement = 16;
constexpr Time acknowledgement_delay = 40'000;

} // namespace

Peer* QueuePair::sender_of(const PacketHeader& header, std::uint32_t source_queue_pair) noexcept {
    if (header.session != session_ || header.source >= by_rank_.size()) return nullptr;
    const std::uint32_t index = by_rank_[header.source];
    if (index == nobody) return nullptr;
    Peer& peer = peers_[index];
    if (source_queue_pair != 0 && source_queue_pair != peer.queue_pair) return nullptr;
    return &peer;
}

std::span<const std::byte> QueuePair::waiting_packet(std::uint32_t buffer) const noexcept {
    return {receive_memory_.data() + buffer * receive_stride_ + (receive_stride_ - packet_bytes_),
            receive_bytes_[buffer]};
}

void QueuePair::arrive(const wire::Completion& completion) {
    const auto buffer = static_cast<std::uint32_t>(completion.wr_id);
    if (completion.status != wire::CompletionStatus::success) {
        if (completion.status != wire::CompletionStatus::flushed) repost(buffer);
        return;
    }
    receive_bytes_[buffer] = completion.byte_count - completion.grh_bytes;
    const std::span<const std::byte> packet = waiting_packet(buffer);
    const std::optional<PacketHeader> header = parse_packet(packet);
    Peer* const peer = header ? sender_of(*header, completion.source_queue_pair) : nullptr;
    if (peer == nullptr) [[unlikely]]
        ++packets_refused_;
    if (peer == nullptr || peer->is_lost) {
        repost(buffer);
        return;
    }
    peer->sends.heard(now_);
    peer->sends.acknowledge(header->acknowledged, header->selective, now_, windows_,
                            [&](std::uint32_t done) { acknowledged(done); });
    if (!peer->sends.is_idle()) watch(*peer, peer->sends.deadline());
    if (peer->sends.has_lost() || has_more(*peer)) make_ready(*peer);
    if (header->kind == PacketKind::acknowledgement && (header->flags & acknowledge_now) != 0) {
        peer->must_acknowledge = true;
        make_ready(*peer);
    }
    const bool kept =
        header->kind != PacketKind::acknowledgement && sort_in(*peer, *header, packet.subspan(header_bytes), buffer);
    if (!kept) repost(buffer);
}

bool QueuePair::sort_in(Peer& peer, const PacketHeader& header, std::span<const std::byte> payload,
                        std::uint32_t buffer) {
    const ReceiveWindow::Arrival arrival = peer.receives.classify(header.sequence);
    if (arrival == ReceiveWindow::Arrival::duplicate || arrival == ReceiveWindow::Arrival::beyond) {
        // Its sender did not hear that it has arrived; beyond: it does not know what we have.
        if (arrival == ReceiveWindow::Arrival::duplicate) ++peer.packets_duplicated;
        peer.must_acknowledge = true;
        make_ready(peer);
        return false;
    }
    const bool taken = arrival == ReceiveWindow::Arrival::next && !peer.is_stalled && take_in(peer, header, payload);
    if (peer.is_lost) return false; // what it sent made no sense
    if (taken) {
        peer.receives.advance();
        take_in_waiting(peer);
        if (peer.is_lost) return false;
    } else {
        if (buffers_waiting_ >= most_buffers_waiting_) { // not kept, so not acknowledged: it comes again
            peer.must_acknowledge = true;                // but its sender hears of us
            make_ready(peer);
            return false;
        }
        ++buffers_waiting_;
        if (!peer.waiting) peer.waiting = waitings_.take();
        peer.waiting->buffers[header.sequence % ReceiveWindow::most_packets] = buffer;
        peer.receives.keep(header.sequence);
        if (arrival == ReceiveWindow::Arrival::next && !peer.is_stalled) {
            peer.is_stalled = true;
            stalled_.push_back(index_of(peer));
        }
    }
    if (++peer.unacknowledged >= packets_an_acknowledgement || (header.flags & acknowledge_now) != 0 ||
        peer.receives.is_any_waiting()) {
        peer.must_acknowledge = true;
        make_ready(peer);
    } else if (peer.unacknowledged == 1) {
        peer.acknowledge_by = now_ + acknowledgement_delay;
        watch(peer, peer.acknowledge_by);
    }
    return !taken;
}

void QueuePair::take_in_waiting(Peer& peer) {
    while (peer.receives.next_waits()) {
        const std::uint32_t buffer = peer.waiting->buffers[peer.receives.expected() % ReceiveWindow::most_packets];
        const std::span<const std::byte> packet = waiting_packet(buffer);
        if (!take_in(peer, *parse_packet(packet), packet.subspan(header_bytes))) {
            if (!peer.is_stalled) {
                peer.is_stalled = true;
                stalled_.push_back(index_of(peer));
            }
            return;
        }
        if (peer.is_lost) return; // its buffers are given back already
        peer.receives.advance();
        --buffers_waiting_;
        repost(buffer);
    }
    if (peer.waiting && !peer.receives.is_any_waiting()) waitings_.give(std::move(peer.waiting));
}

void QueuePair::repost(std::uint32_t buffer) {
    const wire::Sge sge{receive_memory_.data() + buffer * receive_stride_, static_cast<std::uint32_t>(receive_stride_),
                        receive_region_->lkey()};
    const wire::ReceiveRequest request{buffer, {&sge, 1}};
    if (native_->post_receive({&request, 1}).accepted == 0) unposted_.push_back(buffer);
}

} // namespace verbena::reliable
