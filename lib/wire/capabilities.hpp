/// @file
/// How a device describes itself. The core reads these and never asks which backend it is on.
#pragma once

#include <cstdint>

namespace verbena::wire {

/// When a send-queue slot becomes free.
enum class Retirement : std::uint8_t {
    /// When the request executes, signaled or not (rxe). Treated like through_completion: stricter is always right.
    at_execution,
    /// Only when a completion at or after it is polled: a signaled completion frees itself and every older request of
    /// its send queue (mlx5 and most hardware; rdma-core providers/mlx5/cq.c moves `tail` nowhere else).
    through_completion,
    /// Each completion frees its own request only; nothing may be unsignaled (libfabric RDM: completions of different
    /// peers come in any order).
    each_completion,
};

struct Accounting {
    Retirement retirement = Retirement::through_completion;
    bool error_completes_unsignaled = true; ///< errors and flushes complete every request, signaled or not
};

struct Capabilities {
    bool connected = true; ///< a queue pair has one peer (RC); false: one queue pair reaches all (RDM, UD)
    bool reliable = true;  ///< what a completion reports as sent has arrived, once
    bool ordered = true;   ///< sends of one queue pair to one peer arrive in posting order
    bool rdma_read = true;
    bool rdma_write = true;
    bool write_with_imm = true;
    /// WRITEs of one queue pair to one peer take effect in posting order, and what is posted behind a WRITE (another, a
    /// send, an atomic, a READ) finds it done.
    bool ordered_writes = true;
    bool atomics = true;
    bool native_fence = true;         ///< SendFlags::fence is honoured
    bool needs_local_key = true;      ///< local buffers must be registered
    bool manual_progress = false;     ///< nothing moves unless the completion queue is polled, also as a target
    bool checks_remote_access = true; ///< a request outside what its rkey grants does nothing and ends in an error
    /// A message that finds no receive waits at its sender, for as long as it takes, and holds up only its own peer:
    /// fewer receives may be posted than messages are allowed on the way.
    bool waits_for_receive = false;
    std::uint64_t max_message_bytes = 0;
    std::uint32_t max_completions = 0; ///< entries one completion queue may have
    std::uint32_t grh_bytes = 0;       ///< bytes ahead of every receive (UD: 40)
};

} // namespace verbena::wire
