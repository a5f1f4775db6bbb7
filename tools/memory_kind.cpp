#include "memory_kind.hpp"

#include <charconv>

#include <fmt/format.h>
#include <verbena/error.hpp>

namespace verbena::tools {

MemoryChoice memory_choice_of(std::string_view name) {
    const std::size_t colon = name.find(':');
    const std::string_view kind = name.substr(0, colon);
    int gpu = 0;
    if (colon != std::string_view::npos) {
        const std::string_view number = name.substr(colon + 1);
        const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), gpu);
        if (error != std::errc{} || end != number.data() + number.size() || gpu < 0 ||
            (kind != "cuda" && kind != "managed")) {
            throw Error(ErrorCode::invalid_argument, fmt::format("\"{}\" names no GPU's memory", name),
                        "cuda:N and managed:N do, N from 0 as `verbena info` counts GPUs");
        }
    }
    if (kind == "host") return {MemoryKind::host, gpu};
    if (kind == "pinned") return {MemoryKind::pinned, gpu};
    if (kind == "cuda") return {MemoryKind::device, gpu};
    if (kind == "managed") return {MemoryKind::managed, gpu};
    throw Error(ErrorCode::invalid_argument, fmt::format("no kind of memory is called \"{}\"", name),
                "the kinds are host, pinned, cuda, managed");
}

std::string memory_note(MemoryChoice choice) {
    switch (choice.kind) {
    case MemoryKind::host:
        return "host";
    case MemoryKind::pinned:
        return "pinned host";
    case MemoryKind::device:
        return fmt::format("cuda:{}", choice.gpu);
    case MemoryKind::managed:
        return fmt::format("managed:{} (moves by the host path, not GPUDirect)", choice.gpu);
    }
    return "host";
}

} // namespace verbena::tools
