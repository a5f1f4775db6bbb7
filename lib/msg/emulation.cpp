/// Requests to the peer's engine, where the wire cannot write, read or count in its memory. Hot path.
#include <algorithm>
#include <cstring>

#include "msg/engine_impl.hpp"

namespace verbena::msg {
namespace {

RequestBody body_for(RequestKind kind, const RemotePlace& place) noexcept {
    RequestBody body;
    body.kind = kind;
    body.handle = place.handle;
    body.offset = place.offset;
    return body;
}

std::uint64_t capacity_of(const peer::Channel& channel) noexcept {
    return channel.message_bytes - header_bytes - sizeof(RequestBody);
}

} // namespace

Room Engine::Impl::post_engine_request(PeerState& peer, peer::Channel& channel, const RequestBody& body,
                                       std::size_t bytes, std::uint32_t answered, std::uint64_t position) {
    std::byte* const place = channel.send_queue->next_buffer() + header_bytes;
    std::memcpy(place, &body, sizeof body);
    Header header;
    header.kind = MessageKind::request;
    header.source = options.rank;
    header.length = bytes;
    if (answered != no_operation) {
        header.tag = position;
        header.operation = operations.wire_name(answered);
    }
    const Room room = post_message(channel, header, {place, sizeof body + bytes}, false);
    if (room != Room::yes) return room;
    if (answered != no_operation) {
        ++peer.answers;
    } else {
        peer.unsynced = true;
    }
    return Room::yes;
}

Room Engine::Impl::request_put(PeerState& peer, peer::Channel& channel, std::uint32_t index) {
    OperationState& state = operations[index];
    OneSidedState& own = state.one_sided;
    while (state.fetched < state.length) {
        if (const Room room = room_for_message(channel); room != Room::yes) return room;
        const std::uint64_t bytes = std::min(capacity_of(channel), state.length - state.fetched);
        std::byte* const place = channel.send_queue->next_buffer() + header_bytes + sizeof(RequestBody);
        const std::byte* const from = state.buffer + state.fetched;
        if (state.space == nullptr) {
            std::memcpy(place, from, bytes);
        } else if (const ErrorCode copied = copy_staged(*state.space, place, from, bytes, false);
                   copied != ErrorCode::ok) {
            state.status.code = copied;
            return Room::yes;
        }
        RequestBody body = body_for(RequestKind::put, own.place);
        body.offset += state.fetched;
        const Room room = post_engine_request(peer, channel, body, bytes, no_operation, 0);
        if (room != Room::yes) return room;
        own.started = true;
        state.fetched += bytes;
    }
    if (!own.has_signal) return Room::yes;
    if (const Room room = room_for_message(channel); room != Room::yes) return room;
    RequestBody body = body_for(RequestKind::signal, own.signal);
    body.operand = own.signal_value;
    const Room room = post_engine_request(peer, channel, body, 0, no_operation, 0);
    if (room == Room::yes) own.has_signal = false;
    return room;
}

Room Engine::Impl::request_get(PeerState& peer, peer::Channel& channel, std::uint32_t index) {
    OperationState& state = operations[index];
    OneSidedState& own = state.one_sided;
    while (state.fetched < state.length) {
        if (peer.awaiting_finished + peer.answers >= max_rendezvous) return Room::peer_reply;
        if (const Room room = room_for_message(channel); room != Room::yes) return room;
        RequestBody body = body_for(RequestKind::get, own.place);
        body.offset += state.fetched;
        body.length = static_cast<std::uint32_t>(
            std::min<std::uint64_t>(channel.message_bytes - header_bytes, state.length - state.fetched));
        const Room room = post_engine_request(peer, channel, body, 0, index, state.fetched);
        if (room != Room::yes) return room;
        own.started = true;
        ++own.answers;
        state.fetched += body.length;
    }
    return Room::yes;
}

Room Engine::Impl::request_atomic(PeerState& peer, peer::Channel& channel, std::uint32_t index) {
    OperationState& state = operations[index];
    OneSidedState& own = state.one_sided;
    if (peer.awaiting_finished + peer.answers >= max_rendezvous) return Room::peer_reply;
    if (const Room room = room_for_message(channel); room != Room::yes) return room;
    RequestBody body = body_for(own.kind, own.place);
    body.operand = own.operand;
    body.compare = own.compare;
    const Room room = post_engine_request(peer, channel, body, 0, index, 0);
    if (room != Room::yes) return room;
    own.started = true;
    ++own.answers;
    return Room::yes;
}

Room Engine::Impl::request_sync(PeerState& peer, peer::Channel& channel, std::uint32_t index) {
    OperationState& state = operations[index];
    if (peer.awaiting_finished + peer.answers >= max_rendezvous) return Room::peer_reply;
    if (const Room room = room_for_message(channel); room != Room::yes) return room;
    const Room room = post_engine_request(peer, channel, body_for(RequestKind::sync, {}), 0, index, 0);
    if (room != Room::yes) return room;
    ++state.one_sided.answers;
    peer.unsynced = false;
    return Room::acknowledgement;
}

void Engine::Impl::arrive_answer(std::uint32_t rank, const Header& header, std::span<const std::byte> payload) {
    const std::uint32_t index = operations.named(header.operation);
    const bool is_ours = index != no_operation && operations[index].rank == rank &&
                         (operations[index].kind == OperationState::Kind::one_sided ||
                          operations[index].kind == OperationState::Kind::flush) &&
                         operations[index].one_sided.answers > 0;
    const auto code = static_cast<ErrorCode>(header.status);
    bool is_sound = is_ours && code != ErrorCode::would_block && code != ErrorCode::timed_out;
    if (is_sound && code == ErrorCode::ok) {
        const OperationState& state = operations[index];
        const bool flushes = state.kind == OperationState::Kind::flush;
        const std::uint64_t most = flushes ? 0 : is_atomic(state.one_sided.kind) ? word_bytes : state.length;
        is_sound = header.tag <= most && payload.size() <= most - header.tag &&
                   (flushes || !is_atomic(state.one_sided.kind) || payload.size() == word_bytes);
    }
    if (!is_sound) [[unlikely]] {
        Status status;
        status.code = ErrorCode::protocol_violation;
        status.scope = Scope::channel;
        fail_channel(rank, status, "the peer answered a request that was not made");
        return;
    }
    OperationState& state = operations[index];
    OneSidedState& own = state.one_sided;
    PeerState& peer = peers[rank];
    --own.answers;
    --peer.answers;
    if (state.kind == OperationState::Kind::flush) {
        if (code != ErrorCode::ok && peer.put_failure.ok()) peer.put_failure.code = code;
        return; // it is at the front of the back-log, and looks there again
    }
    if (code != ErrorCode::ok) {
        if (state.status.code == ErrorCode::would_block) state.status.code = code;
    } else if (is_atomic(own.kind)) {
        if (own.before != nullptr) std::memcpy(own.before, payload.data(), word_bytes);
    } else if (!payload.empty()) {
        std::byte* const to = state.buffer + header.tag;
        if (state.space == nullptr) {
            std::memcpy(to, payload.data(), payload.size());
        } else if (const ErrorCode copied = copy_staged(*state.space, to, payload.data(), payload.size(), true);
                   copied != ErrorCode::ok) {
            state.status.code = copied;
        }
    }
    if (own.answers == 0) end_one_sided(index);
}

} // namespace verbena::msg
