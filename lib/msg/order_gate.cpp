/// What must wait for what came before. Hot path.
#include <algorithm>
#include <utility>

#include "msg/engine_impl.hpp"

namespace verbena::msg {
namespace {

using order::By;
using order::Relation;

order::Range range_of(const void* memory, std::uint64_t length) noexcept {
    return {reinterpret_cast<std::uint64_t>(memory), length};
}

} // namespace

void Engine::Impl::fence(std::uint32_t rank) {
    if (rank < options.size && rank != options.rank) peers[rank].fence_next = true;
}

void Engine::Impl::set_ordering(std::uint32_t rank, Ordering ordering) {
    if (rank >= options.size) return;
    // What was started under `relaxed` is not watched: so what comes now comes behind it.
    if (peers[rank].ordering == Ordering::relaxed && ordering != Ordering::relaxed) fence(rank);
    peers[rank].ordering = ordering;
}

order::Touch Engine::Impl::touch_of(const OperationState& state) const noexcept {
    const OneSidedState& own = state.one_sided;
    order::Touch touch;
    touch.peer = state.rank;
    touch.local = range_of(state.space != nullptr ? state.user_buffer : state.buffer, state.length);
    if (state.kind == OperationState::Kind::send) {
        touch.kind = order::Kind::send;
        return touch;
    }
    touch.remote = {own.place.memory, state.length};
    if (is_atomic(own.kind)) {
        touch.kind = order::Kind::atomic;
        touch.remote.length = word_bytes;
        touch.local = own.before != nullptr ? range_of(own.before, word_bytes) : order::Range{};
        touch.by = By::copied;
        touch.loops = own.kind == RequestKind::swap && own.native;
    } else if (own.kind == RequestKind::get) {
        touch.kind = order::Kind::read;
        // Whether it will be bounced is known once it is posted.
        const bool may_bounce = !own.started && device.capabilities().needs_local_key;
        touch.by = own.bounced || may_bounce || state.space != nullptr ? By::copied : By::wire;
    } else {
        const bool copies = state.length <= std::min<std::uint64_t>(manager.channel(state.rank).message_bytes,
                                                                    device.capabilities().max_message_bytes);
        touch.by = copies || state.space != nullptr ? By::copied : By::wire;
    }
    if (own.signal.handle != 0) touch.signal = {own.signal.memory, word_bytes};
    if (!own.native) touch.by = By::engine;
    return touch;
}

bool Engine::Impl::is_watched(const OperationState& state) const noexcept {
    const OneSidedState& own = state.one_sided;
    if (own.kind != RequestKind::put) return true;
    // Nothing that comes later conflicts with a put whose bytes are in its slot, or with requests to an engine.
    return own.native && !(own.copies && device.capabilities().ordered_writes);
}

Relation Engine::Impl::gate_of(PeerState& peer, OperationState& state) noexcept {
    OneSidedState& own = state.one_sided;
    const wire::Capabilities& can = device.capabilities();
    Relation gate = Relation::ordered;
    if (own.fenced) {
        const bool by_wire = state.kind == OperationState::Kind::one_sided && own.native;
        // A swap's next compare-and-swap is not posted yet. The peer's engine keeps the order of what it is asked for,
        // and of messages, but the wire overtakes it.
        if (peer.looping > 0 || (by_wire && (peer.answers > 0 || peer.unsynced)) ||
            (peer.writes_out > 0 && !can.ordered_writes)) {
            gate = Relation::wait;
        } else if (peer.fetches_out > 0) {
            gate = by_wire && can.native_fence ? Relation::fence : Relation::wait;
        }
    }
    const bool is_alone = hazards.outstanding() == 0 && queued_one_sided == 0;
    if (peer.ordering == Ordering::relaxed || is_alone || gate == Relation::wait) return gate;
    const order::Touch touch = touch_of(state);
    Relation hazard = hazards.check(touch, peer.ordering == Ordering::strict);
    // What cannot be watched could be overtaken by what comes later: so it waits until it can.
    const bool is_one_too_many = state.kind == OperationState::Kind::one_sided && !hazards.has_room();
    if (is_one_too_many || would_pass(touch, own.sequence)) hazard = Relation::wait;
    if (hazard == Relation::fence && gate != Relation::fence) ++peer.fences;
    if (hazard == Relation::wait && !own.has_waited) {
        own.has_waited = true;
        ++peer.order_waits;
        if (is_one_too_many) ++peer.untracked;
    }
    return std::max(gate, hazard);
}

bool Engine::Impl::would_pass(const order::Touch& touch, std::uint64_t sequence) const noexcept {
    // Each waits for older ones only, so the oldest of all goes on.
    for (const std::uint32_t rank : active) {
        const PeerState& other = peers[rank];
        if (rank == touch.peer || other.queued_memory.is_empty()) continue;
        if (operations[other.backlog.front()].one_sided.sequence < sequence &&
            other.queued_memory.conflicts_with(touch)) {
            return true;
        }
    }
    return false;
}

void Engine::Impl::note_dequeued(PeerState& peer, OperationState::Kind kind) noexcept {
    if (kind != OperationState::Kind::one_sided) return;
    peer.queued_memory.remove();
    --queued_one_sided;
}

void Engine::Impl::watch(PeerState& peer, OperationState& state) noexcept {
    const bool is_unfinished = state.in_flight > 0 || state.one_sided.answers > 0;
    if (peer.ordering == Ordering::relaxed || !is_unfinished || !is_watched(state)) return;
    order::Touch touch = touch_of(state);
    if (touch.kind == order::Kind::write && touch.by == By::copied) touch.local = {}; // free again
    state.one_sided.token = hazards.add(touch);
}

void Engine::Impl::unwatch(OneSidedState& own) noexcept {
    if (std::exchange(own.is_traced, false)) [[unlikely]]
        options.order_trace->done(own.sequence);
    if (own.token == order::HazardTracker::none) return;
    hazards.remove(std::exchange(own.token, order::HazardTracker::none));
}

} // namespace verbena::msg
