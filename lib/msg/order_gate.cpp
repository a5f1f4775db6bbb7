/// What must wait for what came before. Hot path.
#include "msg/engine_impl.hpp"

namespace verbena::msg {

void Engine::Impl::fence(std::uint32_t rank) {
    if (rank < options.size && rank != options.rank) peers[rank].fence_next = true;
}

Gate Engine::Impl::gate_of(const PeerState& peer, const OperationState& state) const noexcept {
    const OneSidedState& own = state.one_sided;
    if (!own.fenced) return Gate::go;
    const wire::Capabilities& can = device.capabilities();
    const bool by_wire = state.kind == OperationState::Kind::one_sided && own.native;
    // A swap's next compare-and-swap is not posted yet. The peer's engine keeps the order of what it is asked for, and
    // of messages, but the wire overtakes it.
    if (peer.looping > 0 || (by_wire && (peer.answers > 0 || peer.unsynced))) return Gate::wait;
    if (peer.writes_out > 0 && !can.ordered_writes) return Gate::wait;
    if (peer.fetches_out == 0) return Gate::go;
    return by_wire && can.native_fence ? Gate::fence : Gate::wait;
}

} // namespace verbena::msg
