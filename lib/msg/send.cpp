/// Messages leave: eager, rendezvous, control. Hot path; start_rendezvous() is for large messages.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "msg/engine_impl.hpp"

namespace verbena::msg {

Header Engine::Impl::header_for(MessageKind kind, const OperationState& state) const noexcept {
    Header header;
    header.kind = kind;
    header.context = state.context;
    header.source = options.rank;
    header.tag = state.tag;
    header.length = state.length;
    return header;
}

Room Engine::Impl::start(std::uint32_t index) {
    OperationState& state = operations[index];
    PeerState& peer = peers[state.rank];
    peer::Channel& channel = manager.channel(state.rank);
    if (state.kind == OperationState::Kind::flush) return start_flush(peer, channel, index);
    if (state.kind == OperationState::Kind::one_sided) return start_one_sided(peer, channel, index);
    if (gate_of(peer, state) != order::Relation::ordered) return Room::order;
    if (state.length + header_bytes <= channel.message_bytes) return start_eager(channel, index);
    return start_rendezvous(peer, channel, index);
}

Room Engine::Impl::room_for_message(const peer::Channel& channel) const noexcept {
    if (channel.credits.available() == 0) return Room::peer_credit;
    return channel.has_room() ? Room::yes : Room::send_queue;
}

Room Engine::Impl::post_message(peer::Channel& channel, Header header, std::span<const std::byte> payload,
                                bool want_signal) {
    const flow::CreditWindow before = channel.credits;
    const bool is_reply = header.kind == MessageKind::finished || header.kind == MessageKind::answer;
    const flow::CreditStamp stamp = header.kind == MessageKind::bare_grant ? channel.credits.send_bare_grant()
                                    : is_reply                             ? channel.credits.send_reply()
                                                                           : channel.credits.send_counted();
    header.granted = stamp.granted;
    header.bare_grants_seen = stamp.bare_grants_seen;

    peer::SendQueue& queue = *channel.send_queue;
    std::byte* buffer = queue.next_buffer();
    std::memcpy(buffer, &header, header_bytes);
    // start_eager() may have put it there already.
    if (!payload.empty() && payload.data() != buffer + header_bytes) {
        std::memcpy(buffer + header_bytes, payload.data(), payload.size());
    }
    const auto bytes = static_cast<std::uint32_t>(header_bytes + payload.size());
    const wire::Sge sge{buffer, bytes, queue.buffer_key()};
    wire::WorkRequest request;
    request.opcode = wire::Opcode::send;
    request.sges = {&sge, 1};
    request.peer = channel.handle;
    if (want_signal) request.flags |= wire::signaled;
    if (bytes <= queue.inline_bytes()) request.flags |= wire::inlined;

    const peer::SlotContext context{static_cast<std::uint32_t>(Purpose::message), channel.rank, no_operation, bytes};
    const Room room = room_of(channel.post(request, context));
    if (room == Room::yes) {
        ++channel.messages_sent;
    } else {
        channel.credits = before;
    }
    return room;
}

Room Engine::Impl::start_eager(peer::Channel& channel, std::uint32_t index) {
    if (const Room room = room_for_message(channel); room != Room::yes) return room;
    OperationState& state = operations[index];
    std::span<const std::byte> payload{state.buffer, state.length};
    if (state.space != nullptr) {
        // Straight into its place in the slot, which post_message() then finds filled.
        std::byte* place = channel.send_queue->next_buffer() + header_bytes;
        const ErrorCode copied = copy_staged(*state.space, place, state.buffer, state.length, false);
        if (copied != ErrorCode::ok) {
            state.held = false;
            complete(index, copied);
            return Room::yes;
        }
        payload = {place, state.length};
    }
    if (const Room room = post_message(channel, header_for(MessageKind::eager, state), payload, false);
        room != Room::yes) {
        return room;
    }
    // The payload was copied: the caller's buffer is free. A later failure ends the channel, which flush() reports.
    state.held = false;
    state.space = nullptr;
    Status status;
    status.bytes = state.length;
    complete(index, status);
    return Room::yes;
}

Room Engine::Impl::start_rendezvous(PeerState& peer, peer::Channel& channel, std::uint32_t index) {
    if (peer.awaiting_finished + peer.answers >= max_rendezvous) return Room::peer_reply;
    if (const Room room = room_for_message(channel); room != Room::yes) return room;
    OperationState& state = operations[index];
    Header header = header_for(MessageKind::rendezvous, state);
    header.operation = operations.wire_name(index);
    std::array<std::byte, longest_offer> payload{};
    std::size_t payload_bytes = sizeof(RendezvousBody);
    ErrorCode reachable = ErrorCode::ok;
    if (const std::optional<mem::SharedMemory> shared = share(state)) {
        std::memcpy(payload.data() + sizeof(RendezvousBody), &*shared, sizeof *shared);
        payload_bytes = longest_offer;
    } else {
        const wire::MemoryRegion* region = nullptr;
        reachable = make_reachable(state, state.length, Access::remote_read, region);
        if (reachable == ErrorCode::ok) {
            const RendezvousBody body{region->remote_address(state.buffer), region->rkey().value};
            std::memcpy(payload.data(), &body, sizeof body);
        } else {
            header.status = static_cast<std::uint8_t>(reachable); // the receiver must not wait for what cannot come
        }
    }
    const Room room = post_message(channel, header, std::span(payload).first(payload_bytes), false);
    if (room != Room::yes) {
        (void)unstage(state, 0);
        return room;
    }
    if (reachable != ErrorCode::ok) {
        state.held = false;
        complete(index, reachable);
        return Room::yes;
    }
    state.held = true;
    state.awaiting_finished = true;
    ++peer.awaiting_finished;
    return Room::yes;
}

Room Engine::Impl::start_flush(PeerState& peer, peer::Channel& channel, std::uint32_t index) {
    // Only what was posted before counts: replies and grants that go out meanwhile must not keep a flush waiting. Sends
    // wait behind it in the back-log, so every rendezvous that is awaited is older.
    OperationState& state = operations[index];
    if (state.flush_through == 0) state.flush_through = channel.messages_sent;
    const bool is_acknowledged = channel.messages_retired >= state.flush_through && peer.awaiting_finished == 0;
    const bool is_visible = peer.writes_out == 0 && peer.looping == 0 && peer.answers == 0;
    if (is_acknowledged && is_visible && !peer.unsynced) {
        state.held = false;
        Status status = std::exchange(peer.put_failure, Status{});
        status.source = state.rank;
        complete(index, status);
        return Room::yes;
    }
    // Where the peer's engine does the writing it says when it has; a request that is answered says so for all before.
    if (peer.unsynced) return request_sync(peer, channel, index);
    if (is_acknowledged && peer.writes_out == 0) return Room::acknowledgement;
    // A signaled request behind them makes the device report them all. It is needed where nothing signaled is behind
    // the last of them, and once is enough.
    if (state.probe_sent || channel.send_queue->ledger().unsignaled_tail() == 0) return Room::acknowledgement;
    if (peer.writes_out > 0) {
        const Room room = post_write_probe(peer, channel);
        state.probe_sent = room == Room::yes;
        return room == Room::yes ? Room::acknowledgement : room;
    }
    if (const Room room = room_for_message(channel); room != Room::yes) return room;
    Header header = header_for(MessageKind::probe, state);
    header.length = 0;
    const Room room = post_message(channel, header, {}, true);
    if (room != Room::yes) return room;
    state.probe_sent = true;
    return Room::acknowledgement;
}

Room Engine::Impl::send_finished(PeerState& peer, std::uint32_t index) {
    OperationState& state = operations[index];
    peer::Channel& channel = manager.channel(state.rank);
    if (!channel.has_room()) return Room::send_queue; // it takes no credit
    Header header = header_for(MessageKind::finished, state);
    header.length = state.to_fetch;
    header.operation = state.remote_operation;
    const bool fetched = state.status.ok() || state.status.code == ErrorCode::truncated;
    header.status = fetched ? 0 : static_cast<std::uint8_t>(state.status.code);
    const Room room = post_message(channel, header, {}, false);
    if (room != Room::yes) return room;
    peer.finishes.pop(operations);
    state.held = false;
    operations.release_if_done(index);
    return Room::yes;
}

void Engine::Impl::send_bare_grant(peer::Channel& channel) {
    Header header;
    header.kind = MessageKind::bare_grant;
    header.source = options.rank;
    (void)post_message(channel, header, {}, false); // on refusal it is still wanted, and pump() asks again
}

} // namespace verbena::msg
