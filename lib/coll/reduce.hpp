/// @file
/// Reductions by the CPU, for every element type. Thread-safe; no allocation.
///
/// Integers wrap modulo 2^n. The 16-bit and 8-bit floats are computed in f32 and rounded once a call. For floats, min
/// and max give NaN when any input is NaN (its payload is unspecified), and of two zeros of different sign the later
/// operand's: equal on all ranks, since plans keep the operands in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <verbena/group.hpp>

namespace verbena::coll {

inline constexpr std::size_t max_reduce_inputs = 16;

/// `output[i] = ((inputs[0][i] op inputs[1][i]) op inputs[2][i]) ...`, 2 to max_reduce_inputs inputs, at any alignment.
/// `output` may be exactly one of the inputs, and overlaps none otherwise. `avg` sums: finish() divides.
void reduce(DataType type, ReduceOp op, std::byte* output, std::span<const std::byte* const> inputs,
            std::size_t count) noexcept;

/// What is left to do once, when every rank's contribution is in: `avg` divides by the number of ranks, integers
/// truncated toward zero. Nothing for the other operations.
void finish(DataType type, ReduceOp op, std::byte* values, std::size_t count, std::uint32_t ranks) noexcept;

/// The operation between two contributions: that of `avg` is `sum`.
[[nodiscard]] constexpr ReduceOp combining(ReduceOp op) noexcept { return op == ReduceOp::avg ? ReduceOp::sum : op; }

} // namespace verbena::coll
