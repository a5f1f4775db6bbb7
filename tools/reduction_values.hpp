/// @file
/// Inputs of a checked reduction: made so that the right result is known exactly, for any type, operation and number of
/// ranks, and so that a value that comes from another rank, place or iteration is a wrong one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <verbena/group.hpp>

namespace verbena::tools {

struct Reduction {
    DataType type = DataType::f32;
    ReduceOp op = ReduceOp::sum;
    std::uint32_t ranks = 1;
    std::uint64_t iteration = 0;
};

/// What `rank` puts in. `memory` holds whole elements of the type.
void fill_input(std::span<std::byte> memory, const Reduction& reduction, std::uint32_t rank);

struct WrongElements {
    std::uint64_t count = 0;
    std::size_t first_offset = 0; ///< in elements
    std::string expected;         ///< of the first
    std::string got;
};

/// Where elements come from: one rank's input as it was, or the reduction of all ranks' inputs.
struct Source {
    std::optional<std::uint32_t> rank; ///< none: the reduction
    std::size_t offset = 0;            ///< of the first element within an input
};

/// Compares with what is computed here from the ranks' inputs; nothing when all is right. Exact, apart from `avg` over
/// f32 and f64: one unit in the last place for the division.
[[nodiscard]] std::optional<WrongElements> find_wrong_elements(std::span<const std::byte> memory,
                                                               const Reduction& reduction, const Source& source = {});

} // namespace verbena::tools
