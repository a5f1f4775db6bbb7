/// An operation ends. Hot path.
#include <cstring>

#include "msg/engine_impl.hpp"

namespace verbena::msg {

void Engine::Impl::complete(std::uint32_t index, ErrorCode code) {
    Status status;
    status.code = code;
    complete(index, status);
}

void Engine::Impl::complete(std::uint32_t index, const Status& status) {
    OperationState& state = operations[index];
    state.status = status;
    state.complete = true;
    operations.release_if_done(index);
}

ErrorCode Engine::Impl::unstage(OperationState& state, std::uint64_t copy_out) {
    state.temporary.reset();
    if (state.space == nullptr || state.buffer == state.user_buffer) return ErrorCode::ok;
    ErrorCode result = ErrorCode::ok;
    try {
        if (copy_out > 0) state.space->copy(state.user_buffer, state.buffer, copy_out);
    } catch (const Error& error) { // the caller's memory is gone, say
        result = error.code();
    }
    staging.release(state.buffer, state.length);
    state.buffer = state.user_buffer;
    return result;
}

ErrorCode Engine::Impl::copy_staged(mem::Space& space, std::byte* to, const std::byte* from, std::size_t bytes,
                                    bool to_space) {
    // By way of a pinned buffer: a copy straight to or from memory that the GPU's driver does not know takes longer.
    try {
        std::byte* stage = staging.acquire(bytes);
        try {
            if (to_space) std::memcpy(stage, from, bytes);
            space.copy(to_space ? to : stage, to_space ? stage : from, bytes);
            if (!to_space) std::memcpy(to, stage, bytes);
        } catch (const Error&) {
            staging.release(stage, bytes);
            throw;
        }
        staging.release(stage, bytes);
        return ErrorCode::ok;
    } catch (const Error& error) {
        return error.code();
    }
}

} // namespace verbena::msg
