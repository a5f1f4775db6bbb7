/// A large message is fetched: the receiver READs it from the sender's memory, then says `finished`.
#include <algorithm>

#include "msg/engine_impl.hpp"

namespace verbena::msg {
namespace {

/// One READ's most. Devices allow 1 GiB or more (mlx5: 1 GiB); the device's own limit is applied besides.
constexpr std::uint64_t largest_read_bytes = 1u << 30;

} // namespace

ErrorCode Engine::Impl::make_reachable(OperationState& state, std::uint64_t bytes, Access access,
                                       const wire::MemoryRegion*& region) {
    try {
        if (state.space != nullptr) {
            state.buffer = staging.acquire(state.length);
            const bool is_source =
                state.kind == OperationState::Kind::send ||
                (state.kind == OperationState::Kind::one_sided && state.one_sided.kind == RequestKind::put);
            if (is_source) state.space->copy(state.buffer, state.user_buffer, bytes);
        }
        region = registrations->find({state.buffer, bytes}, access);
        if (region != nullptr) return ErrorCode::ok;
        state.temporary = device.register_memory({state.buffer, bytes}, access);
        region = state.temporary.get();
        return ErrorCode::ok;
    } catch (const Error& error) {
        (void)unstage(state, 0);
        return error.code();
    }
}

void Engine::Impl::begin_fetch(std::uint32_t index, const Header& header, const RendezvousOffer& offer) {
    OperationState& state = operations[index];
    if (manager.channel(state.rank).state == peer::Channel::State::failed) { // it was early, and its sender is gone
        state.held = false;
        complete(index, manager.channel(state.rank).failure);
        return;
    }
    state.held = true;
    state.remote = {offer.body.address, {offer.body.rkey}};
    state.remote_operation = header.operation;
    state.to_fetch = std::min(header.length, state.length);
    state.fetched = 0;
    state.in_flight = 0;
    state.status = Status{header.length > state.length ? ErrorCode::truncated : ErrorCode::ok,
                          Scope::operation,
                          header.source,
                          header.tag,
                          state.to_fetch,
                          {}};
    if (header.status != 0) { // the sender could not make its memory reachable; it does not wait for us
        state.held = false;
        state.status.code = static_cast<ErrorCode>(header.status);
        state.status.bytes = 0;
        complete(index, Status(state.status));
        return;
    }
    if (offer.shared) {
        fetch_shared(index, *offer.shared);
        return;
    }
    state.lkey = {};
    if (state.to_fetch > 0 && (device.capabilities().needs_local_key || state.space != nullptr)) {
        const wire::MemoryRegion* region = nullptr;
        const ErrorCode reachable = make_reachable(state, state.to_fetch, Access::local_write, region);
        if (reachable != ErrorCode::ok) {
            state.status.code = reachable;
            state.status.bytes = 0;
            state.to_fetch = 0;
        } else {
            state.lkey = region->lkey();
        }
    }
    if (state.to_fetch == 0) {
        end_fetch(index);
        return;
    }
    peers[state.rank].fetches.push(operations, index);
    activate(state.rank);
}

Room Engine::Impl::post_fetches(std::uint32_t index) {
    OperationState& state = operations[index];
    peer::Channel& channel = manager.channel(state.rank);
    const std::uint64_t largest = std::min(largest_read_bytes, device.capabilities().max_message_bytes);
    while (state.fetched < state.to_fetch) {
        if (!channel.has_room()) return Room::send_queue;
        if (!may_fetch(peers[state.rank], channel)) return Room::read_depth;
        const auto bytes = static_cast<std::uint32_t>(std::min(largest, state.to_fetch - state.fetched));
        const wire::Sge sge{state.buffer + state.fetched, bytes, state.lkey};
        wire::WorkRequest request;
        request.opcode = wire::Opcode::rdma_read;
        request.flags = wire::signaled;
        request.sges = {&sge, 1};
        request.remote = {state.remote.address + state.fetched, state.remote.rkey};
        request.peer = channel.handle;
        const peer::SlotContext context{static_cast<std::uint32_t>(Purpose::read), state.rank, index, bytes};
        if (const Room room = room_of(channel.post(request, context)); room != Room::yes) return room;
        ++peers[state.rank].fetches_out;
        ++state.in_flight;
        state.fetched += bytes;
    }
    return Room::yes;
}

void Engine::Impl::end_fetch(std::uint32_t index) {
    OperationState& state = operations[index];
    if (manager.channel(state.rank).state == peer::Channel::State::failed) {
        (void)unstage(state, 0);
        state.held = false;
        if (state.complete) {
            operations.release_if_done(index);
        } else {
            complete(index, manager.channel(state.rank).failure);
        }
        return;
    }
    if (state.fetched < state.to_fetch) return; // more READs wait for room
    if (const ErrorCode copied = unstage(state, state.to_fetch); copied != ErrorCode::ok) state.status.code = copied;
    peers[state.rank].finishes.push(operations, index); // before complete(): `held` keeps it
    complete(index, Status(state.status));
    activate(state.rank);
}

} // namespace verbena::msg
