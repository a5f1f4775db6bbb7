#include <verbena/endpoint.hpp>

#include "api/runtime_core.hpp"

namespace verbena {
namespace {

constexpr msg::Context user_context = 0;

} // namespace

Operation Endpoint::send(std::span<const std::byte> message, Tag tag) {
    const msg::OperationId id = core_->engine->send(rank_, user_context, tag, message);
    return {core_, id.index, id.generation};
}

Operation Endpoint::receive(std::span<std::byte> buffer, Tag tag) {
    const msg::OperationId id = core_->engine->receive(rank_, user_context, tag, buffer);
    return {core_, id.index, id.generation};
}

Operation Endpoint::flush() {
    const msg::OperationId id = core_->engine->flush(rank_);
    return {core_, id.index, id.generation};
}

ChannelInfo Endpoint::describe() const { return core_->engine->describe(rank_); }

} // namespace verbena
