/// Packets leave. Hot path.
#include <algorithm>
#include <cstring>

#include "reliable/device.hpp"
#include "reliable/queue_pair.hpp"

namespace verbena::reliable {
namespace {

/// Packets of one peer before it is another one's turn.
constexpr std::uint32_t packets_a_turn = 16;

} // namespace

bool QueuePair::has_more(const Peer& peer) const noexcept {
    return peer.requests.head != nobody || peer.responses.head != nobody;
}

bool QueuePair::may_fill(const Peer& peer) const noexcept {
    return packets_->shares.may_take(peer.packets_held) && !packets_->is_empty();
}

QueuePair::Sent QueuePair::transmit(Peer& peer) {
    Sent sent = Sent::nothing;
    for (std::uint32_t i = 0; i < packets_a_turn; ++i) {
        if (const std::optional<Sequence> lost = peer.sends.next_lost()) {
            const std::uint32_t packet = peer.sends.packet(*lost);
            // A copy that has not left yet will do, and its memory must not change under the device.
            const bool again = !(*packets_)[packet].in_device;
            if (again && ledger_->available() == 0) return Sent::no_room;
            peer.sends.resent(*lost, now_, again);
            if (again) ++peer.packets_repeated;
            if (again && !emit(peer, packet, *lost)) return Sent::no_room;
        } else if (peer.sends.has_room() && has_more(peer)) {
            if (ledger_->available() == 0 || !may_fill(peer)) return Sent::no_room;
            const std::uint32_t packet = packets_->take();
            packets_->shares.take(peer.packets_held++);
            (*packets_)[packet].peer = index_of(peer);
            fill(peer, packet);
            const Sequence sequence = peer.sends.push(packet, now_, windows_);
            watch(peer, peer.sends.deadline());
            if (!emit(peer, packet, sequence)) return Sent::no_room;
        } else {
            break;
        }
        sent = Sent::something;
    }
    if ((peer.must_acknowledge || peer.must_ask) && !acknowledge(peer)) return Sent::no_room;
    return sent;
}

void QueuePair::fill(Peer& peer, std::uint32_t packet) {
    PacketHeader header;
    header.source = device_.options().rank;
    header.session = peer.session;
    const bool response = peer.responses.head != nobody && (peer.response_next || peer.requests.head == nobody);
    peer.response_next = !response;
    if (response) {
        fill_response(peer, packet, header);
    } else {
        fill_request(peer, packet, header);
    }
    std::memcpy(packets_->memory(packet), &header, header_bytes);
}

void QueuePair::fill_request(Peer& peer, std::uint32_t packet, PacketHeader& header) {
    const std::uint32_t index = peer.requests.head;
    Request& request = requests_[index];
    header.operation = index << 8 | request.generation;
    header.length = request.list.length;
    header.address = request.remote.address;
    header.rkey = request.remote.rkey.value;
    std::uint32_t bytes = 0;
    if (request.opcode == wire::Opcode::rdma_read) {
        header.kind = PacketKind::read;
        request.all_sent = true;
    } else {
        header.kind = request.opcode == wire::Opcode::rdma_write ? PacketKind::write : PacketKind::message;
        if (request.opcode == wire::Opcode::send_with_imm) {
            header.flags |= has_immediate;
            header.immediate = request.immediate;
        }
        header.offset = request.offset;
        bytes = std::min(request.list.length - request.offset,
                         peer.packet_bytes - static_cast<std::uint32_t>(header_bytes));
        request.list.gather(request.offset, {packets_->memory(packet) + header_bytes, bytes});
        request.offset += bytes;
        request.all_sent = request.offset == request.list.length;
        if (request.all_sent) header.flags |= last_piece;
    }
    ++request.unacknowledged;
    (*packets_)[packet].request = index;
    (*packets_)[packet].bytes = static_cast<std::uint32_t>(header_bytes) + bytes;
    if (request.all_sent) peer.requests.head = request.next;
}

void QueuePair::fill_response(Peer& peer, std::uint32_t packet, PacketHeader& header) {
    const std::uint32_t index = peer.responses.head;
    Response& response = responses_[index];
    header.kind = PacketKind::response;
    header.operation = response.operation;
    std::uint32_t bytes =
        std::min(response.length - response.offset, peer.packet_bytes - static_cast<std::uint32_t>(header_bytes));
    if (bytes > 0) {
        // Looked up for each packet: the region may have gone meanwhile.
        const std::byte* const from =
            device_.regions().translate(response.rkey, response.address, response.length, Access::remote_read);
        if (from == nullptr) {
            response.status = wire::CompletionStatus::remote_access_error;
            response.length = response.offset = bytes = 0;
        } else {
            std::memcpy(packets_->memory(packet) + header_bytes, from + response.offset, bytes);
        }
    }
    header.status = static_cast<std::uint8_t>(response.status);
    header.length = response.length;
    header.offset = response.offset;
    response.offset += bytes;
    (*packets_)[packet].bytes = static_cast<std::uint32_t>(header_bytes) + bytes;
    if (response.offset != response.length) return;
    header.flags |= last_piece;
    peer.responses.head = response.next;
    --peer.responses_queued;
    free_responses_.push_back(index);
}

bool QueuePair::emit(Peer& peer, std::uint32_t packet, Sequence sequence) {
    std::byte* const memory = packets_->memory(packet);
    PacketHeader header;
    std::memcpy(&header, memory, header_bytes);
    header.sequence = sequence;
    header.acknowledged = peer.receives.expected();
    header.selective = peer.receives.arrived();
    // Whoever waits for room does not want to wait for the other end's delay as well.
    const bool waits = free_requests_.size() * 2 < requests_.size() ||
                       (has_more(peer) && (!peer.sends.has_room() || !packets_->shares.may_take(peer.packets_held)));
    header.flags = static_cast<std::uint8_t>((header.flags & ~acknowledge_now) | (waits ? acknowledge_now : 0));
    std::memcpy(memory, &header, header_bytes);
    if (!post(peer, packet)) {
        peer.sends.not_sent(sequence);
        return false;
    }
    peer.unacknowledged = 0;
    peer.must_acknowledge = false;
    return true;
}

bool QueuePair::acknowledge(Peer& peer) {
    if (ledger_->available() == 0 || packets_->is_empty()) return false;
    const std::uint32_t packet = packets_->take();
    PacketHeader header;
    header.kind = PacketKind::acknowledgement;
    if (peer.must_ask) header.flags = acknowledge_now;
    header.source = device_.options().rank;
    header.session = peer.session;
    header.acknowledged = peer.receives.expected();
    header.selective = peer.receives.arrived();
    std::memcpy(packets_->memory(packet), &header, acknowledgement_bytes);
    (*packets_)[packet].bytes = acknowledgement_bytes;
    (*packets_)[packet].done = true;
    if (!post(peer, packet)) {
        packets_->give(packet);
        return false;
    }
    if (!(*packets_)[packet].in_device) packets_->give(packet);
    peer.unacknowledged = 0;
    peer.must_acknowledge = peer.must_ask = false;
    return true;
}

bool QueuePair::post(Peer& peer, std::uint32_t packet) {
    PacketPool::Packet& held = (*packets_)[packet];
    const wire::Sge sge{packets_->memory(packet), held.bytes, packets_->lkey()};
    wire::WorkRequest request;
    request.wr_id = ledger_->next();
    request.sges = {&sge, 1};
    request.peer = peer.native;
    const bool copied = held.bytes <= inline_bytes_;
    if (copied) request.flags |= wire::inlined;
    // What is not copied is held until the device has let it go, and a repetition of it may have to wait for that.
    if (!copied || ledger_->must_signal_next()) request.flags |= wire::signaled;
    if (native_->post_send({&request, 1}).accepted == 0) [[unlikely]]
        return false;
    packet_of_slot_[ledger_->next() % packet_of_slot_.size()] = copied ? nobody : packet;
    ledger_->post((request.flags & wire::signaled) != 0);
    held.in_device = !copied;
    ++peer.packets_sent;
    return true;
}

void QueuePair::retire(const wire::Completion& completion) {
    const flow::Sequence oldest = ledger_->next() - ledger_->in_flight();
    const std::uint32_t freed = ledger_->retire_through(completion.wr_id);
    for (std::uint32_t i = 0; i < freed; ++i) {
        const std::uint32_t packet = packet_of_slot_[(oldest + i) % packet_of_slot_.size()];
        if (packet == nobody) continue;
        PacketPool::Packet& held = (*packets_)[packet];
        held.in_device = false;
        if (held.done) packets_->give(packet);
    }
}

void QueuePair::release(std::uint32_t packet) noexcept {
    PacketPool::Packet& held = (*packets_)[packet];
    packets_->shares.give(peers_[held.peer].packets_held--);
    held.done = true;
    if (!held.in_device) packets_->give(packet);
}

void QueuePair::acknowledged(std::uint32_t packet) {
    const std::uint32_t index = (*packets_)[packet].request;
    release(packet);
    if (index == nobody) return;
    Request& request = requests_[index];
    if (--request.unacknowledged > 0 || !request.all_sent || !request.active) return;
    // READ and WRITE end with their response.
    if (request.opcode != wire::Opcode::rdma_read && request.opcode != wire::Opcode::rdma_write) {
        complete(index, wire::CompletionStatus::success);
    }
}

} // namespace verbena::reliable
