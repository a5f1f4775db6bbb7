/// Work that waited for room goes on. Hot path.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "msg/engine_impl.hpp"

namespace verbena::msg {
namespace {

/// Async events cost a system call on verbs, so an idle rank looks for them once in so many steps.
constexpr std::uint64_t steps_between_event_polls = 8192;

/// A queue pair in error refuses requests a little before its first error completion can be polled.
constexpr std::uint32_t steps_before_giving_up = 100'000;

/// What a peer may start in a step while others wait too: enough to use a poll well, few enough to be fair.
constexpr std::uint32_t starts_of_a_peer_in_a_step = 16;

std::string text_of(const wire::AsyncEvent& event) {
    switch (event.kind) {
    case wire::AsyncEventKind::port_active:
        return fmt::format("port {} became active", event.number);
    case wire::AsyncEventKind::port_error:
        return fmt::format("port {} went down", event.number);
    case wire::AsyncEventKind::queue_pair_fatal:
        return fmt::format("queue pair {:#x} reports a fatal error", event.number);
    case wire::AsyncEventKind::completion_queue_error:
        return "a completion queue failed";
    case wire::AsyncEventKind::device_removed:
        return "the device was removed";
    case wire::AsyncEventKind::peer_unreachable:
        return fmt::format("peer {} cannot be reached", event.number);
    }
    return "unknown";
}

} // namespace

void Engine::Impl::activate(std::uint32_t rank) {
    if (peers[rank].active) return;
    peers[rank].active = true;
    active.push_back(rank);
}

std::size_t Engine::Impl::progress() {
    std::size_t handled = manager.poll(*this);
    if (!unposted.empty()) [[unlikely]]
        retry_give_back();
    if (active.size() > 1) std::rotate(active.begin(), active.begin() + 1, active.end()); // each is first in turn
    for (std::size_t i = 0; i < active.size();) {
        const std::uint32_t rank = active[i];
        pump(rank);
        const PeerState& peer = peers[rank];
        const bool still = !peer.backlog.empty() || !peer.finishes.empty() || !peer.fetches.empty() ||
                           !peer.swaps.empty() || peer.has_requests() ||
                           manager.channel(rank).credits.wants_bare_grant();
        if (still && manager.channel(rank).state == peer::Channel::State::connected) {
            ++i;
            continue;
        }
        peers[rank].active = false;
        active[i] = active.back();
        active.pop_back();
    }
    for (std::size_t i = 0; i < tasks.size();) {
        const std::uint32_t index = tasks[i];
        const std::optional<Status> status = operations[index].task->advance(engine);
        if (!status) {
            ++i;
            continue;
        }
        tasks[i] = tasks.back();
        tasks.pop_back();
        operations[index].held = false;
        complete(index, *status);
        ++handled;
    }
    if (!room_watches.empty()) [[unlikely]]
        call_room_watches();
    if (handled == 0 && ++idle_steps % steps_between_event_polls == 0) poll_events();
    return handled;
}

void Engine::Impl::pump(std::uint32_t rank) {
    PeerState& peer = peers[rank];
    peer::Channel& channel = manager.channel(rank);
    if (channel.state != peer::Channel::State::connected) return;
    Room room = Room::yes;
    while (room == Room::yes && !peer.finishes.empty()) room = send_finished(peer, peer.finishes.front());
    bool is_down = room == Room::channel_down;
    if (peer.has_requests()) serve_held(rank);
    for (room = Room::yes; room == Room::yes && !peer.swaps.empty();) {
        room = post_atomic(peer, channel, peer.swaps.front(), order::Relation::ordered);
        if (room == Room::yes) peer.swaps.pop(operations);
    }
    is_down = is_down || room == Room::channel_down;
    for (room = Room::yes; room == Room::yes && !peer.fetches.empty();) {
        room = post_fetches(peer.fetches.front());
        if (room == Room::yes) peer.fetches.pop(operations);
    }
    is_down = is_down || room == Room::channel_down;
    // Where others wait as well nobody takes more than his share of a step.
    std::uint32_t left = active.size() > 1 ? starts_of_a_peer_in_a_step : no_operation;
    while (!peer.backlog.empty() && left-- > 0) {
        const std::uint32_t index = peer.backlog.front();
        // Before it starts: a start that completes may free the operation.
        const std::uint32_t next = operations[index].next;
        const std::uint64_t bytes = operations[index].length;
        const OperationState::Kind kind = operations[index].kind;
        peer.waiting_for = start(index);
        if (peer.waiting_for != Room::yes) break;
        peer.backlog.drop_front(next, bytes);
        --peer.queued;
        note_dequeued(peer, kind);
    }
    is_down = is_down || (!peer.backlog.empty() && peer.waiting_for == Room::channel_down);
    if (is_down) {
        note_channel_down(rank);
        return;
    }
    peer.down_steps = 0;
    if (channel.credits.wants_bare_grant() && channel.has_room()) send_bare_grant(channel);
}

void Engine::Impl::note_channel_down(std::uint32_t rank) {
    const peer::SendQueue& queue = *manager.channel(rank).send_queue;
    if (!queue.was_invalid() && ++peers[rank].down_steps <= steps_before_giving_up) return;
    Status status;
    status.code = queue.was_invalid() ? ErrorCode::internal : ErrorCode::peer_lost;
    status.scope = Scope::channel;
    if (queue.last_errno() != 0) status.cause = {Origin::system_errno, queue.last_errno(), 0};
    fail_channel(rank, status,
                 fmt::format("the queue pair takes no requests: {}",
                             queue.last_errno() != 0 ? verbena::describe(status.cause) : "no cause is reported"));
}

void Engine::Impl::read_events() {
    std::array<wire::AsyncEvent, 8> read;
    for (const wire::AsyncEvent& event : std::span(read).first(device.poll_async(read))) {
        last_event = text_of(event);
        events.push_back(event);
    }
}

void Engine::Impl::poll_events() {
    read_events();
    for (const wire::AsyncEvent& event : std::exchange(events, {})) {
        Status status;
        status.scope = Scope::device;
        status.code = ErrorCode::device_failed;
        switch (event.kind) {
        case wire::AsyncEventKind::device_removed:
        case wire::AsyncEventKind::completion_queue_error:
            break;
        case wire::AsyncEventKind::queue_pair_fatal:
            // A peer's request that could not be served does this, and nothing else may tell of it.
            status.scope = Scope::channel;
            status.code = ErrorCode::peer_lost;
            if (const std::uint32_t rank = manager.rank_of_number(event.number); rank < options.size) {
                fail_channel(rank, status, fmt::format("{}: {}", device.describe(), text_of(event)));
            }
            continue;
        case wire::AsyncEventKind::peer_unreachable:
            status.scope = Scope::channel;
            status.code = ErrorCode::peer_lost;
            if (const std::uint32_t rank = manager.rank_of_handle(event.number); rank < options.size) {
                fail_channel(rank, status, manager.describe(rank).failure);
            }
            continue;
        case wire::AsyncEventKind::port_error: // the transport timers decide: links come back
        case wire::AsyncEventKind::port_active:
            continue;
        }
        for (std::uint32_t rank = 0; rank < options.size; ++rank) {
            if (rank != options.rank)
                fail_channel(rank, status, fmt::format("{}: {}", device.describe(), text_of(event)));
        }
    }
}

} // namespace verbena::msg
