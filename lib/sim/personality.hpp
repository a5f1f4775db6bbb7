/// @file
/// What makes one kind of NIC differ from another, as data. A new kind is a new value, not a new class.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sim/faults.hpp"
#include "wire/capabilities.hpp"
#include "wire/queue_pair.hpp"

namespace verbena::sim {

/// How many work requests a send queue gets for what is asked.
struct Sizing {
    enum class Rule : std::uint8_t {
        as_asked,
        /// 2^n - 1, the first that is not less (rxe: a ring with one entry kept free).
        ring_less_one,
        /// The ring's bytes are the next power of two of asked * WQE bytes; a WQE is the overhead plus the larger of
        /// list and inline payload, in basic blocks of 64 bytes (mlx5).
        basic_blocks,
    };
    Rule rule = Rule::as_asked;
    std::uint32_t wqe_overhead_bytes = 0; ///< basic_blocks only
    std::uint32_t max_work_requests = 32768;
    std::uint32_t max_sges = 16;
    std::uint32_t max_inline_bytes = 256;
    std::uint32_t min_inline_bytes = 0; ///< granted even when none is asked for
};

/// Codes that differ between providers for one fault.
struct FaultCodes {
    wire::CompletionStatus too_long_at_receiver = wire::CompletionStatus::local_length_error;
    wire::CompletionStatus too_long_at_sender = wire::CompletionStatus::remote_invalid_request;
    wire::CompletionStatus bad_local_key = wire::CompletionStatus::local_protection_error;
};

/// How a post call says "no room": what it returns, and errno where that is -1.
struct FullCode {
    int result = 0;
    int system_errno = 0;
};

struct Personality {
    std::string_view name;
    wire::Capabilities capabilities{};
    wire::Accounting accounting{};
    Sizing sizing{};
    FaultCodes codes{};
    std::span<const FullCode> full_codes; ///< one of them, by chance; static storage

    /// A READ or atomic may take effect at the responder up to this much later than it arrives, while what follows it
    /// does not wait (IBTA 9.5 leaves that open; facts: READ then WRITE needs a fence). 0: the responder is serial.
    std::uint32_t max_read_delay_ns = 0;
    /// A WRITE may be placed up to this much later than it arrives, and WRITEs overtake each other (relaxed ordering,
    /// adaptive routing). Whatever is not a WRITE without immediate comes after all that were posted before it.
    std::uint32_t max_write_delay_ns = 0;
    std::uint32_t max_completion_delay_ns = 0; ///< a completion can be polled up to this much later than it is due
    Faults faults{};                           ///< on top of the fabric's
    bool withholds_a_flush = false;            ///< of the requests that an error flushes, one never completes
    bool retry_seven_is_for_ever = false;      ///< retry_count 7 never gives up
    bool overrun_kills_queue = true;           ///< a lost completion ends its queue and the queue pairs on it
    bool takes_posts_in_error = true;          ///< a post in ERR is taken and flushed; else refused as queue_broken
    bool flushes_receives_in_error = true;     ///< also receives that are posted in ERR
    bool offset_addresses = false; ///< remote addresses are offsets into the region (libfabric without VIRT_ADDR)
};

/// A ConnectX-like NIC on RC: slots come back with a polled completion only, READs can be overtaken.
[[nodiscard]] const Personality& mlx5_like();
/// Soft-RoCE on RC: slots come back with execution, the responder is serial, its own error codes.
[[nodiscard]] const Personality& rxe_like();
/// A libfabric RDM endpoint: no connection, each completion frees its own request.
[[nodiscard]] const Personality& rdm_like();

/// RC that does whatever the specification allows a NIC, and most of what is seen of drivers: READs, atomics and WRITEs
/// take effect late, completions come late, messages are lost and doubled, a receiver says "not ready" though it is,
/// posts are refused with every code and sign there is, and one request is never flushed.
[[nodiscard]] const Personality& adversary();

/// All whose devices deliver what they say was sent, so all but ud_like.
[[nodiscard]] std::span<const Personality* const> personalities();

/// UD: datagrams of up to one MTU behind a GRH, which get lost where there is no receive, and when the fabric's faults
/// say so. Slots come back as those of mlx5_like.
[[nodiscard]] const Personality& ud_like();

/// What a queue pair gets. @throws Error (exhausted) naming the limit and the need.
[[nodiscard]] wire::Granted grant(const Personality& personality, const wire::QueuePairOptions& asked);

} // namespace verbena::sim
