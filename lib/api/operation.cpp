#include <verbena/operation.hpp>

#include <utility>

#include "api/runtime_core.hpp"

namespace verbena {

Operation::Operation(detail::RuntimeCore* core, std::uint32_t index, std::uint32_t generation) noexcept
    : core_(core), index_(index), generation_(generation) {}

Operation::Operation(Operation&& other) noexcept
    : core_(std::exchange(other.core_, nullptr)),
      index_(other.index_),
      generation_(other.generation_),
      status_(other.status_) {}

Operation& Operation::operator=(Operation&& other) noexcept {
    if (this == &other) return *this;
    let_go();
    core_ = std::exchange(other.core_, nullptr);
    index_ = other.index_;
    generation_ = other.generation_;
    status_ = other.status_;
    return *this;
}

Operation::~Operation() { let_go(); }

void Operation::let_go() noexcept {
    // After Runtime::close() the engine, and every operation with it, is gone.
    if (core_ == nullptr) return;
    const detail::Gate::Pass pass = core_->gate->enter_quietly();
    if (core_->engine) core_->engine->release({index_, generation_});
}

bool Operation::test() {
    if (core_ == nullptr) return true;
    const detail::Gate::Pass pass = core_->gate->enter();
    if (!core_->engine) {
        status_.code = ErrorCode::cancelled;
        core_ = nullptr;
        return true;
    }
    const msg::OperationId id{index_, generation_};
    if (!core_->engine->is_complete(id)) core_->progress();
    if (!core_->engine->is_complete(id)) return false;
    status_ = core_->engine->status(id);
    core_->engine->release(id);
    core_ = nullptr;
    return true;
}

Status Operation::wait() {
    if (core_ == nullptr) return status_;
    return wait_for(core_->operation_timeout);
}

Status Operation::wait_for(std::chrono::nanoseconds limit) { return wait_until(detail::deadline_after(limit)); }

Status Operation::wait_until(std::chrono::steady_clock::time_point deadline) {
    if (test() || core_->wait({index_, generation_}, deadline)) {
        (void)test();
        return status_;
    }
    Status late;
    late.code = ErrorCode::timed_out;
    return late;
}

Status Operation::status() const noexcept {
    if (core_ == nullptr) return status_;
    Status running;
    running.code = ErrorCode::would_block;
    return running;
}

} // namespace verbena
