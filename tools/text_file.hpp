/// @file
/// Small files of text, read and written whole.
#pragma once

#include <string>
#include <string_view>

namespace verbena::tools {

/// At most 256 MiB. @throws Error (unavailable) naming path and reason.
[[nodiscard]] std::string read_text_file(const std::string& path);
/// Replaces what is there. @throws Error (unavailable) naming path and reason.
void write_text_file(const std::string& path, std::string_view text);

} // namespace verbena::tools
