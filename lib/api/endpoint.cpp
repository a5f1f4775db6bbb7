#include <verbena/endpoint.hpp>

#include "api/runtime_core.hpp"

namespace verbena {
namespace {

constexpr msg::Context user_context = 0;

} // namespace

Operation Endpoint::send(std::span<const std::byte> message, Tag tag) {
    return core_->operation([&](msg::Engine& engine) { return engine.send(rank_, user_context, tag, message); });
}

Operation Endpoint::receive(std::span<std::byte> buffer, Tag tag) {
    return core_->operation([&](msg::Engine& engine) { return engine.receive(rank_, user_context, tag, buffer); });
}

Operation Endpoint::flush() {
    return core_->operation([&](msg::Engine& engine) { return engine.flush(rank_); });
}

ChannelInfo Endpoint::describe() const { return core_->engine ? core_->engine->describe(rank_) : ChannelInfo{}; }

} // namespace verbena
