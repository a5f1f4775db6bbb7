/// @file
/// Message sizes of a measurement: one, or a sweep that multiplies.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace verbena::tools {

/// "8:16MiB" (first and last, both included), or "4KiB" alone; each next size is `factor` times the one before.
/// @throws Error (invalid_argument) for a bad size, a falling range or a factor below 2.
[[nodiscard]] std::vector<std::uint64_t> parse_sizes(std::string_view text, std::uint64_t factor = 2);

/// As people write it: "8 B", "64 KiB", "1000 B".
[[nodiscard]] std::string size_text(std::uint64_t bytes);

/// How often a size is measured unless the user says: about `budget_bytes` in all, within [least, most].
[[nodiscard]] std::uint64_t default_iterations(std::uint64_t bytes, std::uint64_t budget_bytes, std::uint64_t least,
                                               std::uint64_t most);

} // namespace verbena::tools
