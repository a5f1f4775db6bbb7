/// @file
/// What each collective asks of a rank's buffers: the one place that says how long they are.
#pragma once

#include <cstdint>

#include <verbena/group.hpp>

#include "coll/algorithms.hpp"

namespace verbena::coll {

/// In elements; 0 for a buffer that the collective does not use on this rank. In place, the longer buffer contains the
/// shorter, which begins `input_at` or `output_at` elements into it.
struct Extent {
    std::uint64_t input = 0;
    std::uint64_t output = 0;
    std::uint64_t input_at = 0;
    std::uint64_t output_at = 0;
    bool may_share = true; ///< whether in place is allowed
};

/// `shape.segment` is not used.
[[nodiscard]] Extent extent_of(Collective collective, const Shape& shape) noexcept;

/// The blocks have lengths of their own: the shape has `counts`, one a rank.
[[nodiscard]] bool takes_counts(Collective collective) noexcept;
/// `shape.count` is that of a block: one of `ranks` in the longer buffer.
[[nodiscard]] bool has_blocks(Collective collective) noexcept;
[[nodiscard]] bool has_root(Collective collective) noexcept;
[[nodiscard]] bool is_reduction(Collective collective) noexcept;

} // namespace verbena::coll
