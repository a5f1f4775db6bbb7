/// @file
/// Kinds of memory by the names that users give them.
#pragma once

#include <string_view>

#include <verbena/memory.hpp>

namespace verbena::tools {

/// "host", "pinned", "cuda" (MemoryKind::device), "managed". @throws Error (invalid_argument)
[[nodiscard]] MemoryKind memory_kind_of(std::string_view name);

/// How results name it: managed memory is registered as the host pages that it is, so it measures the host's path.
[[nodiscard]] std::string_view memory_note(MemoryKind kind) noexcept;

} // namespace verbena::tools
