/// Messages arrive and are matched. Hot path.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "msg/engine_impl.hpp"

namespace verbena::msg {
namespace {

/// The peer, or our own device, would not do this request; the way to the peer is sound.
bool is_refusal(wire::CompletionStatus status) noexcept {
    return status == wire::CompletionStatus::remote_access_error ||
           status == wire::CompletionStatus::remote_invalid_request ||
           status == wire::CompletionStatus::remote_operation_error ||
           status == wire::CompletionStatus::local_protection_error;
}

const char* name_of(Purpose purpose) noexcept {
    switch (purpose) {
    case Purpose::message:
        return "SEND";
    case Purpose::read:
        return "READ";
    case Purpose::write:
        return "WRITE of a put";
    case Purpose::fetch:
        return "READ or atomic of a one-sided operation";
    }
    return "";
}

} // namespace

void Engine::Impl::on_message(peer::BufferId buffer, std::span<std::byte> message) {
    const std::optional<Header> header = parse_header(message);
    const bool shared = manager.is_shared();
    const bool source_fits = header && header->source < options.size && header->source != options.rank &&
                             (shared || header->source == manager.rank_of_queue(buffer.queue));
    if (!source_fits) [[unlikely]] {
        ++violations;
        give_back({buffer, options.rank, false});
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
    if (channel.state == peer::Channel::State::failed) {
        give_back({buffer, rank, false}); // on a shared queue pair the others need it
        return;
    }
    const bool is_reply = header->kind == MessageKind::finished || header->kind == MessageKind::answer;
    const flow::CreditKind kind = header->kind == MessageKind::bare_grant ? flow::CreditKind::bare_grant
                                  : is_reply                              ? flow::CreditKind::reply
                                                                          : flow::CreditKind::counted;
    channel.credits.receive({header->granted, header->bare_grants_seen}, kind);
    ++channel.messages_received;

    Spent spent = Spent::all;
    switch (header->kind) {
    case MessageKind::eager:
        spent = arrive_eager(rank, *header, buffer, message.subspan(header_bytes));
        break;
    case MessageKind::rendezvous:
        arrive_rendezvous(rank, *header, rendezvous_offer(message));
        break;
    case MessageKind::finished:
        arrive_finished(rank, *header);
        break;
    case MessageKind::request:
        spent = arrive_request(rank, buffer, message) ? Spent::all : Spent::nothing;
        break;
    case MessageKind::answer:
        arrive_answer(rank, *header, message.subspan(header_bytes));
        break;
    case MessageKind::probe:
    case MessageKind::bare_grant:
        break;
    }
    if (spent != Spent::nothing) {
        give_back({buffer, rank, kind == flow::CreditKind::counted && spent == Spent::all});
    }
    // Also for a held message: it may say that our bare grant was seen, which lets the next one go.
    if (!peers[rank].backlog.empty() || channel.credits.wants_bare_grant()) activate(rank);
}

void Engine::Impl::give_back(const SpentBuffer& spent) {
    if (!manager.repost(spent.id)) [[unlikely]] {
        // No room, or the queue pair is broken, in which case nobody misses the buffer.
        ++receive_refusals;
        if (manager.is_shared() || manager.channel(spent.rank).state == peer::Channel::State::connected) {
            unposted.push_back(spent);
        }
        return;
    }
    if (!spent.counted) return;
    peer::Channel& channel = manager.channel(spent.rank);
    channel.credits.reposted(); // only now: a credit is a buffer that is posted
    if (channel.credits.wants_bare_grant()) activate(spent.rank);
}

void Engine::Impl::retry_give_back() {
    std::vector<SpentBuffer> again = std::exchange(unposted, {});
    for (const SpentBuffer& spent : again) give_back(spent);
}

Engine::Impl::Spent Engine::Impl::arrive_eager(std::uint32_t rank, const Header& header, peer::BufferId buffer,
                                               std::span<std::byte> payload) {
    PeerState& peer = peers[rank];
    const std::uint32_t index = peer.posted.take(operations, [&](const OperationState& candidate) {
        return candidate.context == header.context && candidate.tag == header.tag;
    });
    if (index != no_operation) {
        deliver(index, header, payload);
        return Spent::all;
    }
    const bool within_limit = unexpected.may_copy(payload.size());
    if (within_limit || manager.overcommits_receives()) {
        UnexpectedMessage& message = unexpected.push(peer.unexpected, header, UnexpectedMessage::Place::copied);
        unexpected.copy(message, payload);
        message.credit_withheld = !within_limit;
        tell_listener(rank, header);
        return within_limit ? Spent::all : Spent::buffer_only;
    }
    UnexpectedMessage& message = unexpected.push(peer.unexpected, header, UnexpectedMessage::Place::held);
    message.held = payload;
    message.buffer = buffer;
    tell_listener(rank, header);
    return Spent::nothing;
}

void Engine::Impl::deliver(std::uint32_t index, const Header& header, std::span<const std::byte> payload) {
    OperationState& state = operations[index];
    const std::size_t bytes = std::min<std::size_t>(payload.size(), state.length);
    ErrorCode code = bytes < payload.size() ? ErrorCode::truncated : ErrorCode::ok;
    if (state.space != nullptr && bytes > 0) {
        const ErrorCode copied = copy_staged(*state.space, state.user_buffer, payload.data(), bytes, true);
        if (copied != ErrorCode::ok) code = copied;
    } else if (bytes > 0) {
        std::memcpy(state.buffer, payload.data(), bytes);
    }
    state.space = nullptr;
    state.held = false;
    complete(index, Status{code, Scope::operation, header.source, header.tag, bytes, {}});
}

void Engine::Impl::arrive_rendezvous(std::uint32_t rank, const Header& header, const RendezvousOffer& offer) {
    PeerState& peer = peers[rank];
    const std::uint32_t index = peer.posted.take(operations, [&](const OperationState& candidate) {
        return candidate.context == header.context && candidate.tag == header.tag;
    });
    if (index != no_operation) {
        begin_fetch(index, header, offer);
    } else {
        unexpected.push(peer.unexpected, header, UnexpectedMessage::Place::to_fetch).offer = offer;
        tell_listener(rank, header);
    }
}

void Engine::Impl::tell_listener(std::uint32_t rank, const Header& header) const noexcept {
    if (header.context >= listeners.size() || listeners[header.context] == nullptr) return;
    listeners[header.context]->early(rank, header.context, header.tag);
}

void Engine::Impl::arrive_finished(std::uint32_t rank, const Header& header) {
    const std::uint32_t index = operations.named(header.operation);
    const auto code = static_cast<ErrorCode>(header.status);
    const bool is_ours = index != no_operation && operations[index].awaiting_finished && operations[index].rank == rank;
    if (!is_ours || code == ErrorCode::would_block || code == ErrorCode::timed_out) [[unlikely]] {
        Status status;
        status.code = ErrorCode::protocol_violation;
        status.scope = Scope::channel;
        fail_channel(rank, status, "the peer finished a message that was not on its way");
        return;
    }
    OperationState& state = operations[index];
    --peers[rank].awaiting_finished;
    state.awaiting_finished = false;
    (void)unstage(state, 0);
    state.held = false;
    Status status;
    status.code = code;
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
        if (message.credit_withheld) {
            manager.channel(rank).credits.reposted();
            activate(rank);
        }
        break;
    case UnexpectedMessage::Place::held:
        deliver(index, header, message.payload());
        give_back({message.buffer, rank, true});
        break;
    case UnexpectedMessage::Place::to_fetch:
        begin_fetch(index, header, message.offer);
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
    const auto purpose = static_cast<Purpose>(context.purpose);
    const bool is_one_sided = purpose == Purpose::write || purpose == Purpose::fetch;
    // First the channel: fail_channel() leaves operations alone that have requests in flight, this one included. What a
    // shared queue pair's peer refuses is that one request's failure.
    if (failed && !(is_one_sided && manager.is_shared() && is_refusal(status))) [[unlikely]] {
        note_flushed(context.rank, completion);
        fail_channel(context.rank, completion,
                     fmt::format("{} of {} bytes, {} requests posted after it,", name_of(purpose), context.bytes,
                                 manager.channel(context.rank).send_queue->ledger().in_flight()));
    }
    // Nothing is posted from here: slots of this completion that are not visited yet still hold their contexts.
    PeerState& peer = peers[context.rank];
    if (purpose == Purpose::message) ++manager.channel(context.rank).messages_retired;
    if (purpose == Purpose::write) --peer.writes_out;
    if (purpose == Purpose::read || purpose == Purpose::fetch) --peer.fetches_out;
    if (is_one_sided) retire_one_sided(context, status, completion.cause);
    if (purpose == Purpose::read && --operations[context.operation].in_flight == 0) end_fetch(context.operation);
}

void Engine::Impl::on_receive_failed(peer::BufferId buffer, const wire::Completion& completion) {
    if (!manager.is_shared()) {
        note_flushed(manager.rank_of_queue(buffer.queue), completion);
        fail_channel(manager.rank_of_queue(buffer.queue), completion, "RECEIVE");
        return;
    }
    // Somebody sent more than a buffer holds; nobody can tell who. The others are not made to pay for it.
    ++violations;
    give_back({buffer, options.rank, false});
}

} // namespace verbena::msg
