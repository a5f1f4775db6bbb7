/// A send, receive or flush is called. Hot path up to start().
#include <cstring>

#include "msg/engine_impl.hpp"

namespace verbena::msg {

bool Engine::Impl::prepare(std::uint32_t index, std::byte* memory, std::size_t bytes) {
    OperationState& state = operations[index];
    state.buffer = memory;
    state.length = bytes;
    state.space = nullptr;
    if (state.rank >= options.size || (memory == nullptr && bytes > 0)) {
        complete(index, ErrorCode::invalid_argument);
        return false;
    }
    if (bytes == 0 || !spaces.has_plugin()) return true;
    const mem::Classification found = spaces.classify(memory);
    if (!found.problem.empty()) {
        complete(index, ErrorCode::invalid_argument);
        return false;
    }
    mem::Space& space = spaces.space(found.kind);
    if (!space.is_host_accessible()) {
        state.space = &space;
        state.user_buffer = memory;
    }
    return true;
}

OperationId Engine::Impl::send(std::uint32_t rank, Context context, Tag tag, std::span<const std::byte> message) {
    const std::uint32_t index = operations.acquire(OperationState::Kind::send, rank, context, tag);
    const OperationId id = operations.id_of(index);
    // The engine only reads through it; one pointer type serves sends and receives.
    if (!prepare(index, const_cast<std::byte*>(message.data()), message.size())) return id;
    if (rank == options.rank) {
        send_to_self(index);
        return id;
    }
    return launch(index);
}

OperationId Engine::Impl::launch(std::uint32_t index) {
    const OperationId id = operations.id_of(index);
    const std::uint32_t rank = operations[index].rank;
    PeerState& peer = peers[rank];
    if (manager.channel(rank).state != peer::Channel::State::connected) {
        complete(index, manager.channel(rank).failure);
        return id;
    }
    operations[index].one_sided.fenced = std::exchange(peer.fence_next, false);
    operations[index].one_sided.sequence = ++last_sequence;
    if (peer.backlog.empty()) {
        peer.waiting_for = start(index);
        if (peer.waiting_for == Room::yes || operations[index].complete) return id;
    } else if (!backlog_takes(rank, operations[index].length)) {
        complete(index, ErrorCode::would_block);
        return id;
    }
    OperationState& state = operations[index];
    state.held = true;
    if (state.kind == OperationState::Kind::one_sided) {
        peer.queued_memory.add(touch_of(state));
        ++queued_one_sided;
    }
    peer.backlog.push(operations, index);
    ++peer.queued;
    activate(rank);
    return id;
}

OperationId Engine::Impl::receive(std::uint32_t rank, Context context, Tag tag, std::span<std::byte> buffer) {
    const std::uint32_t index = operations.acquire(OperationState::Kind::receive, rank, context, tag);
    const OperationId id = operations.id_of(index);
    if (!prepare(index, buffer.data(), buffer.size())) return id;
    if (match_unexpected(index)) {
        if (rank != options.rank) pump(rank);
        return id;
    }
    if (rank != options.rank && manager.channel(rank).state != peer::Channel::State::connected) {
        complete(index, manager.channel(rank).failure);
        return id;
    }
    operations[index].held = true;
    peers[rank].posted.push(operations, index);
    return id;
}

OperationId Engine::Impl::flush(std::uint32_t rank) {
    const std::uint32_t index = operations.acquire(OperationState::Kind::flush, rank, 0, 0);
    const OperationId id = operations.id_of(index);
    if (!prepare(index, nullptr, 0)) return id;
    if (rank == options.rank) {
        complete(index, ErrorCode::ok);
    } else if (manager.channel(rank).state != peer::Channel::State::connected) {
        complete(index, manager.channel(rank).failure);
    } else {
        operations[index].held = true;
        operations[index].one_sided.sequence = ++last_sequence;
        peers[rank].backlog.push(operations, index);
        ++peers[rank].queued;
        activate(rank);
        pump(rank);
    }
    return id;
}

void Engine::Impl::cancel(std::uint32_t index) {
    OperationState& state = operations[index];
    if (state.complete || !state.held) return;
    const auto is_it = [&](const OperationState& candidate) { return &candidate == &state; };
    PeerState& peer = peers[state.rank];
    if (state.kind == OperationState::Kind::receive) {
        if (peer.posted.take(operations, is_it) == no_operation) return; // being fetched: it ends by itself
    } else {
        if (state.one_sided.started) return;                              // it goes to its end
        if (peer.backlog.take(operations, is_it) == no_operation) return; // the peer knows of it
        --peer.queued;
        note_dequeued(peer, state.kind);
    }
    state.held = false;
    complete(index, ErrorCode::cancelled);
}

void Engine::Impl::send_to_self(std::uint32_t index) {
    OperationState& state = operations[index];
    const Header header = header_for(MessageKind::eager, state);
    PeerState& self = peers[options.rank];
    const std::uint32_t receiver = self.posted.take(operations, [&](const OperationState& candidate) {
        return candidate.context == state.context && candidate.tag == state.tag;
    });
    mem::Space& space = state.space != nullptr ? *state.space : spaces.space(MemoryKind::host);
    if (receiver != no_operation) {
        OperationState& target = operations[receiver];
        const std::size_t bytes = std::min(state.length, target.length);
        mem::Space& through = target.space != nullptr ? *target.space : space;
        if (bytes > 0) through.copy(target.buffer, state.buffer, bytes);
        target.held = false;
        target.space = nullptr; // nothing is staged
        Status status{target.length < state.length ? ErrorCode::truncated : ErrorCode::ok,
                      Scope::operation,
                      options.rank,
                      state.tag,
                      bytes,
                      {}};
        complete(receiver, status);
        state.space = nullptr;
        complete(index, ErrorCode::ok);
        return;
    }
    if (state.space == nullptr && state.length <= options.eager_limit && unexpected.may_copy(state.length)) {
        unexpected.copy(unexpected.push(self.unexpected, header, UnexpectedMessage::Place::copied),
                        {state.buffer, state.length});
        complete(index, ErrorCode::ok);
        return;
    }
    state.held = true;
    unexpected.push(self.unexpected, header, UnexpectedMessage::Place::local).operation = index;
}

} // namespace verbena::msg
