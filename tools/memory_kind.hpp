/// @file
/// Kinds of memory by the names that users give them.
#pragma once

#include <string>
#include <string_view>

#include <verbena/memory.hpp>

namespace verbena::tools {

struct MemoryChoice {
    MemoryKind kind = MemoryKind::host;
    int gpu = 0; ///< CUDA ordinal, of device and managed memory
};

/// "host", "pinned", "cuda" (MemoryKind::device), "managed"; the last two with ":N" for another GPU than the first.
/// @throws Error (invalid_argument)
[[nodiscard]] MemoryChoice memory_choice_of(std::string_view name);

/// How results name it: managed memory is registered as the host pages that it is, so it measures the host's path.
[[nodiscard]] std::string memory_note(MemoryChoice choice);

} // namespace verbena::tools
