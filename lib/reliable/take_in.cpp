/// What a packet brings, taken in once and in order. Hot path.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "reliable/device.hpp"
#include "reliable/queue_pair.hpp"

namespace verbena::reliable {

using wire::CompletionStatus;

bool QueuePair::take_in(Peer& peer, const PacketHeader& header, std::span<const std::byte> payload) {
    switch (header.kind) {
    case PacketKind::message:
        return take_in_message(peer, header, payload);
    case PacketKind::read:
        take_in_read(peer, header);
        return true;
    case PacketKind::write:
        take_in_write(peer, header, payload);
        return true;
    case PacketKind::response:
        take_in_response(peer, header, payload);
        return true;
    case PacketKind::acknowledgement:
        break;
    }
    return true;
}

bool QueuePair::take_in_message(Peer& peer, const PacketHeader& header, std::span<const std::byte> payload) {
    if (peer.receive == nobody) {
        if (header.offset != 0) {
            violation(peer, "sent a message without its beginning");
            return true;
        }
        if (receives_head_ == receives_tail_) return false;
        peer.receive = posted_receives_[receives_head_++ % posted_receives_.size()];
        peer.received = 0;
    }
    if (header.offset != peer.received) {
        violation(peer, "sent a message with a gap");
        return true;
    }
    // A message that is too long is swallowed to its end: the receive has failed, the next message is as good as ever.
    const List& list = receives_[peer.receive].list;
    const bool fits = header.length <= list.length;
    if (fits) list.scatter(header.offset, payload);
    peer.received += static_cast<std::uint32_t>(payload.size());
    if ((header.flags & last_piece) != 0) {
        complete_receive(peer.receive, fits ? CompletionStatus::success : CompletionStatus::local_length_error,
                         header.length, &header);
        peer.receive = nobody;
    }
    return true;
}

void QueuePair::take_in_read(Peer& peer, const PacketHeader& header) {
    Response response;
    response.operation = header.operation;
    response.length = header.length;
    response.address = header.address;
    response.rkey = header.rkey;
    owe(peer, response);
}

void QueuePair::take_in_write(Peer& peer, const PacketHeader& header, std::span<const std::byte> payload) {
    if (header.offset == 0) peer.write_status = CompletionStatus::success;
    if (header.length > 0) {
        std::byte* const to =
            device_.regions().translate(header.rkey, header.address, header.length, Access::remote_write);
        if (to == nullptr) {
            peer.write_status = CompletionStatus::remote_access_error;
        } else {
            std::memcpy(to + header.offset, payload.data(), payload.size());
        }
    }
    if ((header.flags & last_piece) == 0) return;
    Response response;
    response.operation = header.operation;
    response.status = peer.write_status;
    owe(peer, response);
}

void QueuePair::take_in_response(Peer& peer, const PacketHeader& header, std::span<const std::byte> payload) {
    const std::uint32_t index = header.operation >> 8;
    Request* const request = index < requests_.size() ? &requests_[index] : nullptr;
    const bool expected = request != nullptr && request->active && request->generation == (header.operation & 0xff) &&
                          request->peer == index_of(peer) &&
                          (request->opcode == wire::Opcode::rdma_read || request->opcode == wire::Opcode::rdma_write);
    if (!expected) {
        violation(peer, "answered what nobody asked");
        return;
    }
    const auto status = static_cast<CompletionStatus>(header.status);
    const std::uint32_t wanted = request->opcode == wire::Opcode::rdma_read ? request->list.length : 0;
    if (status == CompletionStatus::success) {
        if (header.length != wanted || header.offset != request->received) {
            violation(peer, "answered with other bytes than were asked for");
            return;
        }
        request->list.scatter(header.offset, payload);
        request->received += static_cast<std::uint32_t>(payload.size());
    }
    if ((header.flags & last_piece) != 0) complete(index, status);
}

void QueuePair::violation(Peer& peer, const char* what) {
    end_peer(peer, CompletionStatus::bad_response, fmt::format("rank {} {}", peer.rank, what), true);
}

} // namespace verbena::reliable
