/// A channel ends: every operation on it ends with an error, none vanishes, the first root cause is kept.
#include <fmt/format.h>

#include "msg/engine_impl.hpp"

namespace verbena::msg {

ErrorCode code_of(wire::CompletionStatus status) noexcept {
    switch (status) {
    case wire::CompletionStatus::success:
        return ErrorCode::ok;
    case wire::CompletionStatus::retry_exceeded:
    case wire::CompletionStatus::rnr_retry_exceeded:
    case wire::CompletionStatus::flushed:
        return ErrorCode::peer_lost;
    case wire::CompletionStatus::remote_access_error:
    case wire::CompletionStatus::remote_invalid_request:
    case wire::CompletionStatus::remote_operation_error:
        return ErrorCode::refused;
    case wire::CompletionStatus::fatal:
        return ErrorCode::device_failed;
    default:
        return ErrorCode::internal;
    }
}

void Engine::Impl::note_flushed(std::uint32_t rank, const wire::Completion& completion) noexcept {
    if (completion.status == wire::CompletionStatus::flushed) ++manager.channel(rank).flushed;
}

void Engine::Impl::fail_channel(std::uint32_t rank, const wire::Completion& completion, const std::string& what) {
    if (manager.channel(rank).state == peer::Channel::State::failed) return;
    read_events(); // what the device says is part of the record
    const wire::QueuePairInfo pair = manager.describe(rank);
    Status status;
    status.code = code_of(completion.status);
    status.scope = Scope::channel;
    status.cause = completion.cause;
    if (!pair.failure.empty()) { // a transport of ours knows more than its completion can say
        fail_channel(rank, status, pair.failure);
        return;
    }
    fail_channel(
        rank, status,
        fmt::format("{} failed: {}; local {}; remote {}; path MTU {}, timeout code {}, {} retries; last event of "
                    "the device: {}",
                    what, verbena::describe(completion.cause), pair.local, pair.remote, pair.path_mtu_bytes,
                    options.ack_timeout, options.retry_count, last_event));
}

void Engine::Impl::fail_channel(std::uint32_t rank, const Status& status, const std::string& sentence) {
    peer::Channel& channel = manager.channel(rank);
    if (rank == options.rank || channel.state == peer::Channel::State::failed) return;
    channel.state = peer::Channel::State::failed;
    channel.failure = status;
    channel.failure.source = rank;
    if (channel.send_queue != nullptr) manager.stop(rank);

    PeerState& peer = peers[rank];
    std::uint32_t ended = 0;
    for (std::uint32_t index = 0; index < operations.size(); ++index) {
        OperationState& state = operations[index];
        if (!state.held || state.rank != rank || state.kind == OperationState::Kind::task) continue;
        if (state.in_flight > 0) {
            // They may still write into the caller's buffer: they flush, and end_fetch() follows. A shared queue pair
            // is not stopped and its provider may never tell, so there the caller hears of it now.
            if ((manager.is_shared() || status.scope == Scope::device) && !state.complete) {
                ++ended;
                complete(index, channel.failure);
            }
            continue;
        }
        (void)unstage(state, 0);
        unwatch(state.one_sided);
        state.held = false;
        if (state.complete) {
            operations.release_if_done(index);
        } else {
            ++ended;
            complete(index, channel.failure);
        }
    }
    peer.backlog = {};
    peer.finishes = peer.fetches = peer.posted = peer.swaps = {};
    peer.queued = peer.awaiting_finished = peer.answers = peer.looping = 0;
    peer.unsynced = false;
    queued_one_sided -= std::exchange(peer.queued_memory, {}).count();
    const std::vector<HeldRequest> requests = std::exchange(peer.requests, {});
    for (std::size_t i = std::exchange(peer.first_request, 0); i < requests.size(); ++i) {
        give_back({requests[i].buffer, rank, false});
    }
    channel.failure_record = fmt::format("{}; {} operations ended with it", sentence, ended);
}

} // namespace verbena::msg
