/// @file
/// What a collective asks of its arguments.
#pragma once

#include <cstddef>

#include <verbena/group.hpp>

#include "coll/workspace.hpp"
#include "mem/space.hpp"

namespace verbena::coll {

/// Where both buffers of an all-reduce are. Null pointers are fine for no elements.
/// @throws Error (invalid_argument) for an unknown type or operation, a null pointer, a size beyond the address space,
/// a partial overlap, memory that nothing may use, or buffers of different kinds or GPUs.
[[nodiscard]] Place check_all_reduce(const mem::Spaces& spaces, const void* input, const void* output,
                                     std::size_t count, DataType type, ReduceOp op);

} // namespace verbena::coll
