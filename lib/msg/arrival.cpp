/// Messages arrive and are matched. Hot path.
#include <algorithm>
#include <cstring>

#include "msg/engine_impl.hpp"

namespace verbena::msg {

void Engine::Impl::on_message(peer::BufferId buffer, std::span<std::byte> message) {
    const std::optional<Header> header = parse_header(message);
    const bool shared = manager.is_shared();
    const bool source_fits = header && header->source < options.size && header->source != options.rank &&
                             (shared || header->source == manager.rank_of_queue(buffer.queue));
    if (!source_fits) [[unlikely]] {
        ++violations;
        manager.repost(buffer);
        if (!shared) {
            Status status;
            status.code = ErrorCode::protocol_violation;
            status.scope = Scope::channel;
            fail_channel(manager.rank_of_queue(buffer.queue), status, "the peer sent a message that no verbena sends");
        }
        return;
    }
    const std::uint32_t rank = header->source;
    peer::Channel& channel = manager.channel(rank);
    if (channel.state == peer::Channel::State::failed) return;
    const bool counted = header->kind != MessageKind::bare_grant;
    channel.credits.receive({header->granted, header->bare_grants_seen}, counted);
    ++channel.messages_received;

    bool buffer_is_free = true;
    switch (header->kind) {
    case MessageKind::eager:
        buffer_is_free = arrive_eager(rank, *header, buffer, message.subspan(header_bytes));
        break;
    case MessageKind::rendezvous:
        arrive_rendezvous(rank, *header, rendezvous_body(message));
        break;
    case MessageKind::finished:
        arrive_finished(rank, *header);
        break;
    case MessageKind::probe:
    case MessageKind::bare_grant:
        break;
    }
    if (buffer_is_free && counted) {
        give_back(rank, buffer);
    } else if (buffer_is_free) {
        manager.repost(buffer);
    }
    // Also for a held message: it may say that our bare grant was seen, which lets the next one go.
    if (!peers[rank].backlog.empty() || channel.credits.wants_bare_grant()) activate(rank);
}

void Engine::Impl::give_back(std::uint32_t rank, peer::BufferId buffer) {
    manager.repost(buffer);
    peer::Channel& channel = manager.channel(rank);
    channel.credits.reposted();
    if (channel.credits.wants_bare_grant()) activate(rank); // a held message was received at last
}

bool Engine::Impl::arrive_eager(std::uint32_t rank, const Header& header, peer::BufferId buffer,
                                std::span<std::byte> payload) {
    PeerState& peer = peers[rank];
    const std::uint32_t index = peer.posted.take(operations, [&](const OperationState& candidate) {
        return candidate.context == header.context && candidate.tag == header.tag;
    });
    if (index != no_operation) {
        deliver(index, header, payload);
        return true;
    }
    if (unexpected.may_copy(payload.size())) {
        unexpected.copy(unexpected.push(peer.unexpected, header, UnexpectedMessage::Place::copied), payload);
        return true;
    }
    UnexpectedMessage& message = unexpected.push(peer.unexpected, header, UnexpectedMessage::Place::held);
    message.held = payload;
    message.buffer = buffer;
    return false;
}

void Engine::Impl::deliver(std::uint32_t index, const Header& header, std::span<const std::byte> payload) {
    OperationState& state = operations[index];
    const std::size_t bytes = std::min<std::size_t>(payload.size(), state.length);
    if (state.space != nullptr) {
        if (bytes > 0) {
            std::byte* stage = staging.acquire(bytes);
            std::memcpy(stage, payload.data(), bytes);
            state.space->copy(state.user_buffer, stage, bytes);
            staging.release(stage, bytes);
        }
        state.space = nullptr;
    } else if (bytes > 0) {
        std::memcpy(state.buffer, payload.data(), bytes);
    }
    state.held = false;
    complete(index, Status{bytes < payload.size() ? ErrorCode::truncated : ErrorCode::ok,
                           Scope::operation,
                           header.source,
                           header.tag,
                           bytes,
                           {}});
}

void Engine::Impl::arrive_rendezvous(std::uint32_t rank, const Header& header, const RendezvousBody& body) {
    PeerState& peer = peers[rank];
    const std::uint32_t index = peer.posted.take(operations, [&](const OperationState& candidate) {
        return candidate.context == header.context && candidate.tag == header.tag;
    });
    if (index != no_operation) {
        begin_fetch(index, header, body);
    } else {
        unexpected.push(peer.unexpected, header, UnexpectedMessage::Place::to_fetch).body = body;
    }
}

void Engine::Impl::arrive_finished(std::uint32_t rank, const Header& header) {
    const std::uint32_t index = header.operation;
    const bool is_ours = index < operations.size() && operations[index].kind == OperationState::Kind::send &&
                         operations[index].held && !operations[index].complete && operations[index].rank == rank;
    if (!is_ours || peers[rank].awaiting_finished == 0) [[unlikely]] {
        Status status;
        status.code = ErrorCode::protocol_violation;
        status.scope = Scope::channel;
        fail_channel(rank, status, "the peer finished a message that was not on its way");
        return;
    }
    OperationState& state = operations[index];
    --peers[rank].awaiting_finished;
    unstage(state, false);
    state.held = false;
    Status status;
    status.code = static_cast<ErrorCode>(header.status);
    status.bytes = state.length;
    complete(index, status);
}

bool Engine::Impl::match_unexpected(std::uint32_t index) {
    const OperationState& wanted = operations[index];
    const std::uint32_t rank = wanted.rank;
    const std::uint32_t node = unexpected.take(peers[rank].unexpected, wanted.context, wanted.tag);
    if (node == no_operation) return false;
    UnexpectedMessage& message = unexpected[node];
    const Header header = message.header;
    switch (message.place) {
    case UnexpectedMessage::Place::copied:
        deliver(index, header, message.payload());
        break;
    case UnexpectedMessage::Place::held:
        deliver(index, header, message.payload());
        give_back(rank, message.buffer);
        break;
    case UnexpectedMessage::Place::to_fetch:
        begin_fetch(index, header, message.body);
        break;
    case UnexpectedMessage::Place::local: {
        const std::uint32_t sender = message.operation;
        operations[index].held = true;
        peers[rank].posted.push(operations, index);
        operations[sender].held = false;
        send_to_self(sender);
        break;
    }
    }
    unexpected.release(node);
    return true;
}

void Engine::Impl::on_retired(const peer::SlotContext& context, const wire::Completion& completion,
                              wire::CompletionStatus status) {
    const bool failed = status != wire::CompletionStatus::success;
    const bool is_read = context.purpose == static_cast<std::uint32_t>(Purpose::read);
    // First the channel: fail_channel() leaves operations alone that have READs in flight, this one included.
    if (failed) [[unlikely]]
        fail_channel(context.rank, completion, is_read ? "READ" : "SEND");
    // Nothing is posted from here: slots of this completion that are not visited yet still hold their contexts.
    if (is_read && --operations[context.operation].reads_in_flight == 0) end_fetch(context.operation);
}

void Engine::Impl::on_queue_failed(std::uint32_t queue, const wire::Completion& completion) {
    if (!manager.is_shared()) {
        fail_channel(manager.rank_of_queue(queue), completion, "RECEIVE");
        return;
    }
    for (std::uint32_t rank = 0; rank < options.size; ++rank) {
        if (rank != options.rank) fail_channel(rank, completion, "RECEIVE");
    }
}

} // namespace verbena::msg
