#include <verbena/endpoint.hpp>

#include "api/runtime_core.hpp"

namespace verbena {
namespace {

constexpr msg::Context user_context = 0;

msg::OneSidedCall call_of(msg::OneSidedCall::Kind kind, const RemoteRegion& region, std::uint64_t offset) {
    msg::OneSidedCall call;
    call.kind = kind;
    call.region = &region;
    call.offset = offset;
    return call;
}

/// The engine only reads through it; one pointer type serves puts and gets.
std::span<std::byte> writable(std::span<const std::byte> source) {
    return {const_cast<std::byte*>(source.data()), source.size()};
}

} // namespace

Operation Endpoint::send(std::span<const std::byte> message, Tag tag) {
    return core_->operation([&](msg::Engine& engine) { return engine.send(rank_, user_context, tag, message); });
}

Admission Endpoint::try_send(std::span<const std::byte> message, Tag tag) {
    const detail::Gate::Pass pass = core_->gate->enter();
    if (!core_->engine) return send(message, tag); // cancelled
    msg::Engine& engine = *core_->engine;
    const msg::OperationId id = engine.send(rank_, user_context, tag, message);
    if (!engine.is_complete(id) || engine.status(id).code != ErrorCode::would_block) {
        return Operation(core_, id.index, id.generation);
    }
    engine.release(id);
    return engine.would_block(rank_);
}

void Endpoint::on_room(std::function<void()> callback, std::size_t bytes) {
    const detail::Gate::Pass pass = core_->gate->enter();
    core_->open_engine().on_room(rank_, bytes, std::move(callback));
}

Status Endpoint::wait_for_room(std::size_t bytes) { return wait_for_room(bytes, core_->operation_timeout); }

Status Endpoint::wait_for_room(std::size_t bytes, std::chrono::nanoseconds limit) {
    Status status;
    const bool ended = core_->wait_until(
        [&](msg::Engine& engine) {
            status = engine.channel_status(rank_);
            return !status.ok() || engine.has_room(rank_, bytes);
        },
        detail::deadline_after(limit));
    if (!core_->engine) status.code = ErrorCode::cancelled;
    if (!ended) status.code = ErrorCode::timed_out;
    return status;
}

Operation Endpoint::receive(std::span<std::byte> buffer, Tag tag) {
    return core_->operation([&](msg::Engine& engine) { return engine.receive(rank_, user_context, tag, buffer); });
}

Operation Endpoint::put(std::span<const std::byte> source, const RemoteRegion& to, std::uint64_t offset) {
    msg::OneSidedCall call = call_of(msg::OneSidedCall::Kind::put, to, offset);
    call.local = writable(source);
    return core_->operation([&](msg::Engine& engine) { return engine.one_sided(rank_, call); });
}

Operation Endpoint::get(std::span<std::byte> destination, const RemoteRegion& from, std::uint64_t offset) {
    msg::OneSidedCall call = call_of(msg::OneSidedCall::Kind::get, from, offset);
    call.local = destination;
    return core_->operation([&](msg::Engine& engine) { return engine.one_sided(rank_, call); });
}

Operation Endpoint::put_with_signal(std::span<const std::byte> source, const RemoteRegion& to, std::uint64_t offset,
                                    const RemoteRegion& signal, std::uint64_t signal_offset, std::uint64_t value) {
    msg::OneSidedCall call = call_of(msg::OneSidedCall::Kind::put, to, offset);
    call.local = writable(source);
    call.signal = &signal;
    call.signal_offset = signal_offset;
    call.signal_value = value;
    return core_->operation([&](msg::Engine& engine) { return engine.one_sided(rank_, call); });
}

Operation Endpoint::fetch_add(const RemoteRegion& at, std::uint64_t offset, std::uint64_t addend,
                              std::uint64_t* before) {
    msg::OneSidedCall call = call_of(msg::OneSidedCall::Kind::fetch_add, at, offset);
    call.operand = addend;
    call.before = before;
    return core_->operation([&](msg::Engine& engine) { return engine.one_sided(rank_, call); });
}

Operation Endpoint::compare_and_swap(const RemoteRegion& at, std::uint64_t offset, std::uint64_t expected,
                                     std::uint64_t desired, std::uint64_t* before) {
    msg::OneSidedCall call = call_of(msg::OneSidedCall::Kind::compare_and_swap, at, offset);
    call.compare = expected;
    call.operand = desired;
    call.before = before;
    return core_->operation([&](msg::Engine& engine) { return engine.one_sided(rank_, call); });
}

Operation Endpoint::swap(const RemoteRegion& at, std::uint64_t offset, std::uint64_t value, std::uint64_t* before) {
    msg::OneSidedCall call = call_of(msg::OneSidedCall::Kind::swap, at, offset);
    call.operand = value;
    call.before = before;
    return core_->operation([&](msg::Engine& engine) { return engine.one_sided(rank_, call); });
}

void Endpoint::set_ordering(Ordering ordering) {
    if (core_->engine) core_->engine->set_ordering(rank_, ordering);
}

void Endpoint::fence() {
    const detail::Gate::Pass pass = core_->gate->enter();
    if (core_->engine) core_->engine->fence(rank_);
}

Operation Endpoint::flush() {
    return core_->operation([&](msg::Engine& engine) { return engine.flush(rank_); });
}

ChannelInfo Endpoint::describe() const {
    const detail::Gate::Pass pass = core_->gate->enter();
    return core_->engine ? core_->engine->describe(rank_) : ChannelInfo{};
}

} // namespace verbena
