#include "coll/arguments.hpp"

#include <cstdint>
#include <limits>
#include <string>

#include <fmt/format.h>

#include <verbena/error.hpp>

namespace verbena::coll {
namespace {

[[noreturn]] void refuse(const std::string& what, const std::string& advice = {}) {
    throw Error(ErrorCode::invalid_argument, "all_reduce: " + what, advice);
}

std::string describe(const mem::Classification& found) {
    if (found.kind == MemoryKind::host) return std::string(name(found.kind));
    return fmt::format("{} (GPU {})", name(found.kind), found.gpu);
}

} // namespace

Place check_all_reduce(const mem::Spaces& spaces, const void* input, const void* output, std::size_t count,
                       DataType type, ReduceOp op) {
    const std::size_t size = size_of(type);
    if (size == 0) refuse(fmt::format("{} is no element type", static_cast<unsigned>(type)));
    if (op > ReduceOp::avg) refuse(fmt::format("{} is no operation", static_cast<unsigned>(op)));
    if (count == 0) return {&spaces.space(MemoryKind::host), -1};
    if (input == nullptr) refuse(fmt::format("input is null, {} elements of {} are needed", count, name(type)));
    if (output == nullptr) refuse(fmt::format("output is null, {} elements of {} are needed", count, name(type)));

    const auto from = reinterpret_cast<std::uintptr_t>(input);
    const auto to = reinterpret_cast<std::uintptr_t>(output);
    if (count > (std::numeric_limits<std::uintptr_t>::max() - (from > to ? from : to)) / size) {
        refuse(fmt::format("{} elements of {} go beyond the address space", count, name(type)));
    }
    const std::size_t apart = from > to ? from - to : to - from;
    if (apart != 0 && apart < count * size) {
        refuse(fmt::format("input {} and output {} overlap in part: {} bytes apart, {} bytes long", input, output,
                           apart, count * size),
               "pass the same pointer twice to reduce in place, or buffers that do not overlap");
    }

    const mem::Classification source = spaces.classify(input);
    if (!source.problem.empty()) refuse("input: " + source.problem);
    if ((type == DataType::f16 || type == DataType::bf16) && !spaces.space(source.kind).is_host_accessible()) {
        refuse(fmt::format("{} memory is not reduced as {}", name(source.kind), name(type)),
               "reduce f16 and bf16 in host memory, or convert to f32 first");
    }
    if (apart == 0) return {&spaces.space(source.kind), source.gpu};
    const mem::Classification target = spaces.classify(output);
    if (!target.problem.empty()) refuse("output: " + target.problem);
    if (source.kind != target.kind || source.gpu != target.gpu) {
        refuse(fmt::format("input is {} memory, output is {} memory", describe(source), describe(target)),
               "both must be of one kind and, on GPUs, of one GPU: copy one with Runtime::copy");
    }
    return {&spaces.space(source.kind), source.gpu};
}

} // namespace verbena::coll
