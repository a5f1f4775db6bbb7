/// A large message in a GPU that both processes reach: the receiver maps the sender's memory and copies, GPU to GPU.
#include "msg/engine_impl.hpp"

namespace verbena::msg {

std::optional<mem::SharedMemory> Engine::Impl::share(const OperationState& state) const {
    const bool is_near = state.rank < options.shares_gpus.size() && options.shares_gpus[state.rank];
    if (!is_near || state.space == nullptr) return std::nullopt;
    try {
        return spaces.share(state.user_buffer);
    } catch (const Error&) {
        return std::nullopt; // staged then
    }
}

void Engine::Impl::fetch_shared(std::uint32_t index, const mem::SharedMemory& source) {
    OperationState& state = operations[index];
    try {
        spaces.copy_shared(state.space != nullptr ? state.user_buffer : state.buffer, source, state.to_fetch);
    } catch (const Error& error) {
        state.status.code = error.code();
        state.status.cause = error.cause();
        state.status.bytes = 0;
        state.to_fetch = 0;
    }
    state.fetched = state.to_fetch;
    end_fetch(index);
}

} // namespace verbena::msg
