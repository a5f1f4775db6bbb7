/// @file
/// How much of the program's order the wire is made to keep, for puts, gets and atomics.
#pragma once

#include <cstdint>
#include <string_view>

#include <verbena/export.hpp>

namespace verbena {

/// Operations are started in program order and run at once. A READ's or atomic's answer may come after what was posted
/// later took effect; some wires let WRITEs overtake each other too. What the program may see of that:
enum class Ordering : std::uint8_t {
    relaxed, ///< all of it: the program calls fence(), or waits
    hazard,  ///< nothing: an operation that overlaps an unfinished one, here or there, is fenced or waits. The default
    strict,  ///< nothing, also where nothing overlaps: others see the operations in program order as well
};

[[nodiscard]] VERBENA_API std::string_view name(Ordering ordering) noexcept;

} // namespace verbena
