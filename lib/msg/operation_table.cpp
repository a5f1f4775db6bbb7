#include "msg/operation_table.hpp"

namespace verbena::msg {

std::uint32_t OperationTable::acquire(OperationState::Kind kind, std::uint32_t rank, Context context, Tag tag) {
    if (free_.empty()) {
        // release_if_done() must not allocate
        if (free_.capacity() <= states_.size()) free_.reserve(2 * (states_.size() + 1));
        states_.add();
        free_.push_back(static_cast<std::uint32_t>(states_.size() - 1));
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    OperationState& state = states_[index];
    state.kind = kind;
    state.complete = false;
    state.user_owned = true;
    state.held = false;
    state.probe_sent = false;
    state.awaiting_finished = false;
    state.flush_through = 0;
    state.in_flight = 0;
    state.fetched = 0;
    state.lkey = {};
    if (kind == OperationState::Kind::one_sided || kind == OperationState::Kind::flush) {
        state.one_sided = {};
    } else { // what every operation is asked for
        state.one_sided.fenced = state.one_sided.started = state.one_sided.has_waited = false;
    }
    state.context = context;
    state.rank = rank;
    state.tag = tag;
    state.status = Status{};
    state.status.code = ErrorCode::would_block;
    return index;
}

void OperationTable::release_if_done(std::uint32_t index) noexcept {
    OperationState& state = states_[index];
    if (state.user_owned || state.held || !state.complete) return;
    state.temporary.reset();
    state.task.reset();
    ++state.generation;
    free_.push_back(index);
}

} // namespace verbena::msg
