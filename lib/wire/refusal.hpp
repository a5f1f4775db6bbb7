/// @file
/// What a post call returned, made the same for every provider. Pure functions.
#pragma once

#include "wire/types.hpp"

namespace verbena::wire {

/// Made positive: providers return the errno (mlx5, rxe), its negative (siw, qedr, cxgb4, erdma, libfabric), or -1 and
/// set errno.
[[nodiscard]] int post_errno(int result, int system_errno) noexcept;

/// The refusal that a positive errno of a post call stands for, once SGE count and inline length are known to be right.
/// "No room" is ENOMEM on most, ENOSPC on rxe's ibv_wr_*, EAGAIN on libfabric.
[[nodiscard]] Refusal refusal_of(int positive_errno) noexcept;

/// The other way round, for a wire with no provider beneath it: an errno that refusal_of() reads as that.
[[nodiscard]] int errno_of(Refusal refusal) noexcept;

} // namespace verbena::wire
