/// A put, get or atomic is called, checked, started and ended. Hot path.
#include <cstring>

#include "msg/engine_impl.hpp"

namespace verbena::msg {
namespace {

RequestKind kind_of(OneSidedCall::Kind kind) noexcept {
    switch (kind) {
    case OneSidedCall::Kind::put:
        return RequestKind::put;
    case OneSidedCall::Kind::get:
        return RequestKind::get;
    case OneSidedCall::Kind::fetch_add:
        return RequestKind::fetch_add;
    case OneSidedCall::Kind::compare_and_swap:
        return RequestKind::compare_and_swap;
    case OneSidedCall::Kind::swap:
        return RequestKind::swap;
    }
    return RequestKind::put;
}

Access right_for(OneSidedCall::Kind kind) noexcept {
    switch (kind) {
    case OneSidedCall::Kind::put:
        return Access::remote_write;
    case OneSidedCall::Kind::get:
        return Access::remote_read;
    default:
        return Access::remote_atomic;
    }
}

RemotePlace place_in(const RemoteRegion& region, std::uint64_t offset) noexcept {
    const RemoteRegion::Fields& fields = region.fields();
    return {{fields.address + offset, {fields.rkey}}, fields.handle, offset, fields.memory + offset};
}

} // namespace

bool Engine::Impl::has_native_rma() const noexcept {
    const wire::Capabilities& can = device.capabilities();
    return can.rdma_read && can.rdma_write && can.checks_remote_access;
}

ErrorCode Engine::Impl::check(std::uint32_t rank, const OneSidedCall& call) const noexcept {
    const auto fits = [&](const RemoteRegion& region, std::uint64_t offset, std::uint64_t length, Access right) {
        const RemoteRegion::Fields& fields = region.fields();
        return fields.owner == rank && fields.job == options.job && allows(fields.rights, right) &&
               offset <= fields.length && length <= fields.length - offset;
    };
    const auto is_word = [&](const RemoteRegion& region, std::uint64_t offset, Access right) {
        return fits(region, offset, word_bytes, right) && (region.fields().memory + offset) % word_bytes == 0;
    };
    const RequestKind kind = kind_of(call.kind);
    if (rank >= options.size || rank == options.rank || call.region == nullptr) return ErrorCode::invalid_argument;
    if (!is_atomic(kind)) {
        if (!fits(*call.region, call.offset, call.local.size(), right_for(call.kind))) {
            return ErrorCode::invalid_argument;
        }
    } else {
        if (!is_word(*call.region, call.offset, Access::remote_atomic)) return ErrorCode::invalid_argument;
        // The owner's NIC does this region's atomics, so its engine must not.
        const bool can = has_native_rma() && device.capabilities().atomics;
        if (call.region->fields().native_atomics && !can) return ErrorCode::unavailable;
    }
    if (call.signal != nullptr && !is_word(*call.signal, call.signal_offset, Access::remote_write)) {
        return ErrorCode::invalid_argument;
    }
    return ErrorCode::ok;
}

OperationId Engine::Impl::one_sided(std::uint32_t rank, const OneSidedCall& call) {
    const std::uint32_t index = operations.acquire(OperationState::Kind::one_sided, rank, 0, 0);
    const OperationId id = operations.id_of(index);
    if (const ErrorCode wrong = check(rank, call); wrong != ErrorCode::ok) {
        complete(index, wrong);
        return id;
    }
    if (!prepare(index, call.local.data(), call.local.size())) return id;
    OperationState& state = operations[index];
    OneSidedState& own = state.one_sided;
    const RemoteRegion::Fields& fields = call.region->fields();
    own.kind = kind_of(call.kind);
    own.native = is_atomic(own.kind) ? fields.native_atomics : fields.native_rma && has_native_rma();
    own.place = place_in(*call.region, call.offset);
    own.operand = call.operand;
    own.compare = call.compare;
    own.before = call.before;
    if (call.signal != nullptr) {
        own.has_signal = true;
        own.signal = place_in(*call.signal, call.signal_offset);
        own.signal_value = call.signal_value;
    }
    return launch(index);
}

Room Engine::Impl::start_one_sided(PeerState& peer, peer::Channel& channel, std::uint32_t index) {
    OperationState& state = operations[index];
    OneSidedState& own = state.one_sided;
    if (state.status.code != ErrorCode::would_block) { // a part of it has failed: the rest is not posted
        if (state.in_flight > 0 || own.answers > 0) return Room::acknowledgement;
        own.all_posted = true;
        end_one_sided(index);
        return Room::yes;
    }
    order::Relation gate = order::Relation::ordered;
    if (!own.started) {
        gate = gate_of(peer, state);
        if (gate == order::Relation::wait) return Room::order;
    }
    Room room = Room::yes;
    if (is_atomic(own.kind)) {
        room = own.native ? post_atomic(peer, channel, index, gate) : request_atomic(peer, channel, index);
    } else if (own.kind == RequestKind::put) {
        room = own.native ? post_put(peer, channel, index, gate) : request_put(peer, channel, index);
    } else {
        room = own.native ? post_get(peer, channel, index, gate) : request_get(peer, channel, index);
    }
    if (own.started && own.token == order::HazardTracker::none) watch(peer, state);
    if (options.order_trace != nullptr && own.started && !own.is_traced) [[unlikely]] {
        own.is_traced = true;
        options.order_trace->posted(own.sequence, own.kind, touch_of(state), gate == order::Relation::fence);
    }
    if (room != Room::yes) return room;
    own.all_posted = true;
    state.held = true;
    if (state.in_flight == 0 && own.answers == 0) {
        end_one_sided(index);
    } else if (own.copies && state.status.code == ErrorCode::would_block) {
        Status status; // the caller may go on; what it touches over there is watched until it is done
        status.source = state.rank;
        status.bytes = state.length;
        complete(index, status);
    }
    return Room::yes;
}

void Engine::Impl::retire_one_sided(const peer::SlotContext& context, wire::CompletionStatus status, Cause cause) {
    PeerState& peer = peers[context.rank];
    const bool failed = status != wire::CompletionStatus::success;
    const bool was_complete = context.operation == no_operation || operations[context.operation].complete;
    if (failed && was_complete && peer.put_failure.ok()) {
        peer.put_failure.code = code_of(status);
        peer.put_failure.cause = cause;
    }
    if (context.operation == no_operation) return;
    OperationState& state = operations[context.operation];
    OneSidedState& own = state.one_sided;
    --state.in_flight;
    if (failed) {
        if (state.status.code == ErrorCode::would_block) {
            state.status.code = code_of(status);
            state.status.cause = cause;
        }
    } else if (is_atomic(own.kind)) {
        std::uint64_t before = 0;
        std::memcpy(&before, context.buffer, sizeof before);
        if (own.kind == RequestKind::swap && before != own.compare) { // somebody was faster: again, from what is there
            own.compare = before;
            if (manager.channel(context.rank).state == peer::Channel::State::connected) {
                peer.swaps.push(operations, context.operation);
                activate(context.rank);
                return;
            }
        } else if (own.before != nullptr && !state.complete) {
            *own.before = before;
        }
    } else if (context.buffer != nullptr && !state.complete) {
        if (state.space == nullptr) {
            std::memcpy(state.buffer, context.buffer, state.length);
        } else if (const ErrorCode copied =
                       copy_staged(*state.space, state.user_buffer, context.buffer, state.length, true);
                   copied != ErrorCode::ok) {
            state.status.code = copied;
        }
    }
    if (state.in_flight == 0) end_one_sided(context.operation);
}

void Engine::Impl::end_one_sided(std::uint32_t index) {
    OperationState& state = operations[index];
    OneSidedState& own = state.one_sided;
    const peer::Channel& channel = manager.channel(state.rank);
    const bool is_down = channel.state == peer::Channel::State::failed;
    if (!is_down && (!own.all_posted || own.answers > 0)) return; // pump() goes on with it
    unwatch(own);
    const bool has_failed = state.status.code != ErrorCode::would_block;
    const bool was_got = own.kind == RequestKind::get && !is_down && !has_failed;
    const ErrorCode copied = unstage(state, was_got ? state.length : 0);
    if (own.kind == RequestKind::swap && own.native && own.started && !is_down) --peers[state.rank].looping;
    state.held = false;
    state.space = nullptr;
    if (state.complete) {
        operations.release_if_done(index);
    } else if (is_down) {
        complete(index, channel.failure);
    } else {
        Status status = state.status;
        if (!has_failed) status.code = copied;
        status.source = state.rank;
        if (status.ok()) status.bytes = is_atomic(own.kind) ? word_bytes : state.length;
        complete(index, status);
    }
}

} // namespace verbena::msg
