#include "memory_kind.hpp"

#include <fmt/format.h>
#include <verbena/error.hpp>

namespace verbena::tools {

MemoryKind memory_kind_of(std::string_view name) {
    if (name == "host") return MemoryKind::host;
    if (name == "pinned") return MemoryKind::pinned;
    if (name == "cuda") return MemoryKind::device;
    if (name == "managed") return MemoryKind::managed;
    throw Error(ErrorCode::invalid_argument, fmt::format("no kind of memory is called \"{}\"", name),
                "the kinds are host, pinned, cuda, managed");
}

std::string_view memory_note(MemoryKind kind) noexcept {
    switch (kind) {
    case MemoryKind::host:
        return "host";
    case MemoryKind::pinned:
        return "pinned host";
    case MemoryKind::device:
        return "cuda";
    case MemoryKind::managed:
        return "managed (moves by the host path, not GPUDirect)";
    }
    return "host";
}

} // namespace verbena::tools
