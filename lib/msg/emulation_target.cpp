/// A peer's requests are carried out and answered, in the order in which they came. Hot path.
#include <atomic>
#include <cstring>

#include "msg/engine_impl.hpp"

namespace verbena::msg {
namespace {

Access right_for(RequestKind kind) noexcept {
    switch (kind) {
    case RequestKind::put:
    case RequestKind::signal:
        return Access::remote_write;
    case RequestKind::get:
        return Access::remote_read;
    default:
        return Access::remote_atomic;
    }
}

bool is_aligned(const std::byte* place) noexcept { return reinterpret_cast<std::uintptr_t>(place) % word_bytes == 0; }

std::uint64_t apply(const RequestBody& body, std::byte* place) noexcept {
    std::atomic_ref<std::uint64_t> word(*reinterpret_cast<std::uint64_t*>(place));
    if (body.kind == RequestKind::fetch_add) return word.fetch_add(body.operand);
    if (body.kind == RequestKind::swap) return word.exchange(body.operand);
    std::uint64_t before = body.compare;
    word.compare_exchange_strong(before, body.operand);
    return before;
}

} // namespace

bool Engine::Impl::arrive_request(std::uint32_t rank, peer::BufferId buffer, std::span<const std::byte> message) {
    PeerState& peer = peers[rank];
    if (!peer.has_requests() && serve(rank, message)) return true;
    peer.requests.push_back({buffer, message});
    activate(rank);
    return false;
}

void Engine::Impl::serve_held(std::uint32_t rank) {
    PeerState& peer = peers[rank];
    while (peer.has_requests()) {
        const HeldRequest& front = peer.requests[peer.first_request];
        if (!serve(rank, front.message)) return;
        const peer::BufferId buffer = front.buffer;
        if (++peer.first_request == peer.requests.size()) {
            peer.requests.clear();
            peer.first_request = 0;
        }
        give_back({buffer, rank, true});
    }
}

bool Engine::Impl::serve(std::uint32_t rank, std::span<const std::byte> message) {
    PeerState& peer = peers[rank];
    peer::Channel& channel = manager.channel(rank);
    const RequestBody body = request_body(message);
    const std::span<const std::byte> data = message.subspan(header_bytes + sizeof body);
    std::uint64_t length = word_bytes;
    if (body.kind == RequestKind::put) length = data.size();
    if (body.kind == RequestKind::get) length = body.length;
    std::byte* place = nullptr;
    ErrorCode code = ErrorCode::ok;
    if (body.kind != RequestKind::sync) {
        place = registrations->exposed.find(body.handle, body.offset, length, right_for(body.kind));
        const bool needs_word = body.kind != RequestKind::put && body.kind != RequestKind::get;
        if (place == nullptr || (needs_word && !is_aligned(place))) code = ErrorCode::refused;
    }
    if (body.kind == RequestKind::put || body.kind == RequestKind::signal) {
        if (code != ErrorCode::ok) {
            if (peer.request_failure == ErrorCode::ok) peer.request_failure = code;
        } else if (body.kind == RequestKind::put) {
            std::memcpy(place, data.data(), data.size());
        } else {
            std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(place))
                .store(body.operand, std::memory_order_release);
        }
        return true;
    }

    if (!channel.has_room()) return false;
    if (body.kind == RequestKind::get && length > channel.message_bytes - header_bytes) code = ErrorCode::refused;
    std::byte* const payload = channel.send_queue->next_buffer() + header_bytes;
    Header answer;
    answer.kind = MessageKind::answer;
    answer.source = options.rank;
    const Header request = *parse_header(message);
    answer.operation = request.operation;
    answer.tag = request.tag;
    if (body.kind == RequestKind::sync) {
        code = peer.request_failure;
    } else if (code == ErrorCode::ok) {
        answer.length = length;
        if (body.kind == RequestKind::get) {
            std::memcpy(payload, place, length);
        } else {
            // Once: where the device refuses the answer after all, it is kept for the next attempt.
            if (!peer.front_is_done) peer.front_before = apply(body, place);
            peer.front_is_done = true;
            std::memcpy(payload, &peer.front_before, sizeof peer.front_before);
        }
    }
    answer.status = static_cast<std::uint8_t>(code);
    if (post_message(channel, answer, {payload, answer.length}, false) != Room::yes) return false;
    peer.front_is_done = false;
    if (body.kind == RequestKind::sync) peer.request_failure = ErrorCode::ok;
    return true;
}

} // namespace verbena::msg
