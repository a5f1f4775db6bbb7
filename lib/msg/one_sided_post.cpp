/// The RDMA requests of a put, get or atomic. Hot path.
#include <algorithm>
#include <cstring>

#include "msg/engine_impl.hpp"
#include "wire/request.hpp"

namespace verbena::msg {
namespace {

/// One request's most. Devices allow 1 GiB or more (mlx5: 1 GiB); the device's own limit is applied besides.
constexpr std::uint64_t largest_request_bytes = 1u << 30;

/// A word's place in a slot's buffer, which may begin anywhere.
std::byte* aligned(std::byte* buffer) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(buffer);
    return buffer + (word_bytes - address % word_bytes) % word_bytes;
}

std::uint8_t flags_for(order::Relation gate) noexcept { return gate == order::Relation::fence ? wire::fence : 0; }

} // namespace

bool Engine::Impl::may_fetch(const PeerState& peer, const peer::Channel& channel) const {
    // The queue would hold it back, and all behind it: so it waits here. A shared queue has no one depth.
    if (manager.is_shared()) return true;
    const std::uint32_t depth = channel.send_queue->queue_pair().granted().max_read_atomic;
    return depth == 0 || peer.fetches_out < depth; // 0: the device itself says what it thinks of a READ
}

Room Engine::Impl::post_rdma(PeerState& peer, peer::Channel& channel, wire::WorkRequest& request,
                             peer::SlotContext context) {
    const bool writes = request.opcode == wire::Opcode::rdma_write;
    // Whoever waits for a WRITE must hear of it by itself where a later one does not speak for it.
    if (writes && !device.capabilities().ordered_writes) request.flags |= wire::signaled;
    request.peer = channel.handle;
    context.purpose = static_cast<std::uint32_t>(writes ? Purpose::write : Purpose::fetch);
    context.rank = channel.rank;
    context.bytes = static_cast<std::uint32_t>(wire::length_of(request.sges));
    if (const Room room = room_of(channel.post(request, context)); room != Room::yes) return room;
    ++(writes ? peer.writes_out : peer.fetches_out);
    if (writes) peer.last_written = request.remote;
    if (context.operation != no_operation) {
        ++operations[context.operation].in_flight;
        operations[context.operation].held = true;
    }
    return Room::yes;
}

Room Engine::Impl::post_put(PeerState& peer, peer::Channel& channel, std::uint32_t index, order::Relation gate) {
    OperationState& state = operations[index];
    OneSidedState& own = state.one_sided;
    peer::SendQueue& queue = *channel.send_queue;
    const bool is_ordered = device.capabilities().ordered_writes;
    const std::uint64_t largest = std::min(largest_request_bytes, device.capabilities().max_message_bytes);
    own.copies = state.length <= std::min<std::uint64_t>(channel.message_bytes, largest);
    // What comes behind a copied put is in order where the device keeps it; elsewhere it must know when that is done.
    const std::uint32_t operation = own.copies && is_ordered ? no_operation : index;
    if (!own.is_reachable && !own.copies) {
        if (device.capabilities().needs_local_key || state.space != nullptr) {
            const wire::MemoryRegion* region = nullptr;
            const ErrorCode reachable = make_reachable(state, state.length, Access::none, region);
            if (reachable != ErrorCode::ok) {
                state.status.code = reachable;
                return Room::yes;
            }
            state.lkey = region->lkey();
        }
        own.is_reachable = true;
    }
    while (state.fetched < state.length) {
        if (!channel.has_room()) return Room::send_queue;
        const auto bytes = static_cast<std::uint32_t>(std::min(largest, state.length - state.fetched));
        wire::Sge sge{state.buffer + state.fetched, bytes, state.lkey};
        wire::WorkRequest request;
        request.opcode = wire::Opcode::rdma_write;
        request.flags = state.fetched == 0 ? flags_for(gate) : std::uint8_t{0};
        request.sges = {&sge, 1};
        request.remote = {own.place.wire.address + state.fetched, own.place.wire.rkey};
        peer::SlotContext context;
        context.operation = operation;
        if (own.copies) {
            std::byte* const place = queue.next_buffer() + state.fetched;
            if (state.space == nullptr) {
                std::memcpy(place, sge.address, bytes);
            } else if (const ErrorCode copied = copy_staged(*state.space, place, sge.address, bytes, false);
                       copied != ErrorCode::ok) {
                state.status.code = copied;
                return Room::yes;
            }
            sge.address = place;
            sge.lkey = queue.buffer_key();
            if (bytes <= queue.inline_bytes()) request.flags |= wire::inlined;
        } else if (state.fetched + bytes == state.length) {
            request.flags |= wire::signaled;
        }
        if (const Room room = post_rdma(peer, channel, request, context); room != Room::yes) return room;
        own.started = true;
        state.fetched += bytes;
    }
    if (!own.has_signal) return Room::yes;
    if (!is_ordered && state.in_flight > 0) return Room::order;
    const Room room = post_word(peer, channel, own.signal, own.signal_value, is_ordered ? no_operation : index,
                                own.started ? order::Relation::ordered : gate);
    if (room != Room::yes) return room;
    own.has_signal = false;
    own.started = true;
    return Room::yes;
}

Room Engine::Impl::post_word(PeerState& peer, peer::Channel& channel, const RemotePlace& to, std::uint64_t word,
                             std::uint32_t operation, order::Relation gate) {
    peer::SendQueue& queue = *channel.send_queue;
    if (!channel.has_room()) return Room::send_queue;
    std::byte* const place = aligned(queue.next_buffer());
    std::memcpy(place, &word, sizeof word);
    const wire::Sge sge{place, sizeof word, queue.buffer_key()};
    wire::WorkRequest request;
    request.opcode = wire::Opcode::rdma_write;
    request.sges = {&sge, 1};
    request.remote = to.wire;
    request.flags = flags_for(gate);
    if (queue.inline_bytes() >= sizeof word) request.flags |= wire::inlined;
    peer::SlotContext context;
    context.operation = operation;
    return post_rdma(peer, channel, request, context);
}

Room Engine::Impl::post_get(PeerState& peer, peer::Channel& channel, std::uint32_t index, order::Relation gate) {
    OperationState& state = operations[index];
    OneSidedState& own = state.one_sided;
    peer::SendQueue& queue = *channel.send_queue;
    const std::uint64_t largest = std::min(largest_request_bytes, device.capabilities().max_message_bytes);
    if (!own.is_reachable && state.length > 0) {
        const bool needs_key = device.capabilities().needs_local_key || state.space != nullptr;
        const wire::MemoryRegion* region = nullptr;
        if (needs_key && state.space == nullptr) {
            region = registrations->find({state.buffer, state.length}, Access::local_write);
        }
        // Into the slot's own buffer and from there: a registration costs more than a copy.
        own.bounced =
            needs_key && region == nullptr && state.length <= std::min<std::uint64_t>(channel.message_bytes, largest);
        if (needs_key && region == nullptr && !own.bounced) {
            const ErrorCode reachable = make_reachable(state, state.length, Access::local_write, region);
            if (reachable != ErrorCode::ok) {
                state.status.code = reachable;
                return Room::yes;
            }
        }
        if (region != nullptr) state.lkey = region->lkey();
        own.is_reachable = true;
    }
    while (state.fetched < state.length) {
        if (!channel.has_room()) return Room::send_queue;
        if (!may_fetch(peer, channel)) return Room::read_depth;
        const auto bytes = static_cast<std::uint32_t>(std::min(largest, state.length - state.fetched));
        peer::SlotContext context;
        context.operation = index;
        wire::Sge sge{state.buffer + state.fetched, bytes, state.lkey};
        if (own.bounced) {
            context.buffer = queue.next_buffer();
            sge = {context.buffer, bytes, queue.buffer_key()};
        }
        wire::WorkRequest request;
        request.opcode = wire::Opcode::rdma_read;
        request.flags = state.fetched == 0 ? flags_for(gate) : std::uint8_t{0};
        if (state.fetched + bytes == state.length) request.flags |= wire::signaled;
        request.sges = {&sge, 1};
        request.remote = {own.place.wire.address + state.fetched, own.place.wire.rkey};
        if (const Room room = post_rdma(peer, channel, request, context); room != Room::yes) return room;
        own.started = true;
        state.fetched += bytes;
    }
    return Room::yes;
}

Room Engine::Impl::post_atomic(PeerState& peer, peer::Channel& channel, std::uint32_t index, order::Relation gate) {
    OneSidedState& own = operations[index].one_sided;
    peer::SendQueue& queue = *channel.send_queue;
    if (!channel.has_room()) return Room::send_queue;
    if (!may_fetch(peer, channel)) return Room::read_depth;
    peer::SlotContext context;
    context.operation = index;
    context.buffer = aligned(queue.next_buffer());
    const wire::Sge sge{context.buffer, word_bytes, queue.buffer_key()};
    wire::WorkRequest request;
    request.opcode =
        own.kind == RequestKind::fetch_add ? wire::Opcode::atomic_fetch_add : wire::Opcode::atomic_compare_swap;
    request.flags = static_cast<std::uint8_t>(flags_for(gate) | wire::signaled);
    request.sges = {&sge, 1};
    request.remote = own.place.wire;
    request.operand = own.operand;
    request.compare = own.compare;
    const Room room = post_rdma(peer, channel, request, context);
    if (room != Room::yes) return room;
    if (own.kind == RequestKind::swap && !own.started) ++peer.looping;
    own.started = true;
    return Room::yes;
}

Room Engine::Impl::post_write_probe(PeerState& peer, peer::Channel& channel) {
    if (!channel.has_room()) return Room::send_queue;
    wire::WorkRequest request; // no bytes, so no key is looked at (IBTA 9.7.4.1.6) and the peer's engine takes no part
    request.opcode = wire::Opcode::rdma_write;
    request.flags = wire::signaled;
    request.remote = peer.last_written;
    peer::SlotContext context;
    context.operation = no_operation;
    return post_rdma(peer, channel, request, context);
}

} // namespace verbena::msg
