#include "coll/plan.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace verbena::coll {

Range part(const Range& whole, std::uint64_t pieces, std::uint64_t index) noexcept {
    const std::uint64_t base = whole.count / pieces;
    const std::uint64_t longer = whole.count % pieces;
    return {whole.buffer, whole.offset + index * base + std::min(index, longer), base + (index < longer ? 1 : 0)};
}

std::uint64_t pieces_of(std::uint64_t count, std::uint64_t segment) noexcept {
    return segment == 0 || count == 0 ? 1 : (count + segment - 1) / segment;
}

std::uint32_t RankPlan::add(Step step) {
    std::erase(step.after, no_step);
    steps.push_back(std::move(step));
    return static_cast<std::uint32_t>(steps.size() - 1);
}

std::string_view name(Buffer buffer) noexcept {
    switch (buffer) {
    case Buffer::input:
        return "input";
    case Buffer::output:
        return "output";
    case Buffer::scratch:
        return "scratch";
    }
    return "unknown";
}

std::string_view name(StepKind kind) noexcept {
    switch (kind) {
    case StepKind::send:
        return "send";
    case StepKind::receive:
        return "receive";
    case StepKind::receive_reduce:
        return "receive_reduce";
    case StepKind::copy:
        return "copy";
    case StepKind::reduce:
        return "reduce";
    }
    return "unknown";
}

const Range& message_range(const Step& step) noexcept {
    switch (step.kind) {
    case StepKind::send:
        return step.left;
    case StepKind::receive_reduce:
        return step.right;
    default:
        return step.target;
    }
}

std::string describe(const Range& range) {
    return fmt::format("{} [{}, {})", name(range.buffer), range.offset, range.end());
}

std::string describe(const Step& step) {
    switch (step.kind) {
    case StepKind::send:
        return fmt::format("send {} to rank {}", describe(step.left), step.peer);
    case StepKind::receive:
        return fmt::format("receive {} from rank {}", describe(step.target), step.peer);
    case StepKind::receive_reduce:
        return fmt::format("receive_reduce {} from rank {} with {} into {}", describe(step.right), step.peer,
                           describe(step.left), describe(step.target));
    case StepKind::copy:
        return fmt::format("copy {} to {}", describe(step.left), describe(step.target));
    case StepKind::reduce:
        return fmt::format("reduce {} and {} into {}", describe(step.left), describe(step.right),
                           describe(step.target));
    }
    return "unknown step";
}

} // namespace verbena::coll
