/// @file
/// libibverbs' values as wire's, and back: pure functions, hot path.
#pragma once

#include <cstdint>
#include <optional>

#include <infiniband/verbs.h>

#include <verbena/memory.hpp>

#include "wire/queue_pair.hpp"
#include "wire/refusal.hpp"
#include "wire/types.hpp"

namespace verbena::verbs {

/// Marks receives in wr_id: of a failed completion only wr_id, status, qp_num and vendor_err are valid
/// (ibv_poll_cq(3)), so the opcode cannot tell whose it is. The core uses the low 62 bits.
inline constexpr std::uint64_t receive_mark = std::uint64_t{1} << 63;

/// @param grh_bytes ahead of every receive of this device's queue pairs: 40 on UD, else 0
[[nodiscard]] wire::Completion completion_of(const ibv_wc& wc, std::uint32_t grh_bytes = 0) noexcept;
[[nodiscard]] wire::CompletionStatus status_of(ibv_wc_status status) noexcept;

using wire::post_errno;
using wire::refusal_of;

[[nodiscard]] ibv_wr_opcode opcode_of(wire::Opcode opcode) noexcept;
[[nodiscard]] unsigned send_flags_of(std::uint8_t flags) noexcept;
[[nodiscard]] int access_flags_of(Access access) noexcept;
[[nodiscard]] wire::QueuePairState state_of(ibv_qp_state state) noexcept;

/// None: of no interest above (communication established, GID change, ...).
[[nodiscard]] std::optional<wire::AsyncEvent> event_of(const ibv_async_event& event) noexcept;

} // namespace verbena::verbs
