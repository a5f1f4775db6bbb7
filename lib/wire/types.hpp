/// @file
/// The vocabulary of a NIC, as plain values. Terms are those of libibverbs, spelled as there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <verbena/error.hpp>

namespace verbena::wire {

/// A key that the local device needs for local memory. libibverbs: lkey; libfabric: the descriptor pointer. Opaque, and
/// a type of its own, so that it cannot go where a remote key belongs.
struct LocalKey {
    std::uint64_t value = 0;
};

/// A key that lets a peer reach a region.
struct RemoteKey {
    std::uint64_t value = 0;
};

/// A place in a peer's memory. `address` is what the peer's MemoryRegion::remote_address() returned: a virtual address,
/// or an offset, as its provider wishes.
struct RemoteAddress {
    std::uint64_t address = 0;
    RemoteKey rkey{};
};

/// One scatter/gather entry.
struct Sge {
    std::byte* address = nullptr; ///< never written through when it is a source
    std::uint32_t length = 0;     ///< bytes
    LocalKey lkey{};              ///< ignored when the request is inline
};

enum class Opcode : std::uint8_t {
    send,
    send_with_imm,
    rdma_write,
    rdma_write_with_imm,
    rdma_read,
    atomic_fetch_add,
    atomic_compare_swap,
};

/// Flags of a work request.
enum SendFlags : std::uint8_t {
    signaled = 1,  ///< completes with a Completion also when it succeeds
    fence = 2,     ///< starts only after earlier READs and atomics of this queue pair are complete (IBTA 9.8.3)
    inlined = 4,   ///< payload is copied while posting: the buffer is free on return, no lkey is needed
    solicited = 8, ///< may wake a peer that sleeps on solicited events
};

/// Names the target of a request on a datagram queue pair; unused on a connected one.
struct PeerHandle {
    std::uint64_t value = 0;
};

struct WorkRequest {
    std::uint64_t wr_id = 0;
    Opcode opcode = Opcode::send;
    std::uint8_t flags = 0;
    std::uint32_t immediate = 0;
    std::span<const Sge> sges; ///< borrowed for the call
    RemoteAddress remote{};    ///< WRITE, READ, atomics
    PeerHandle peer{};         ///< datagram queue pairs
    std::uint64_t operand = 0; ///< atomics: addend, or the value swapped in
    std::uint64_t compare = 0; ///< compare-and-swap: the expected value
};

struct ReceiveRequest {
    std::uint64_t wr_id = 0;
    std::span<const Sge> sges; ///< borrowed for the call
};

/// Why a provider stopped taking requests. The first is "not now", the others are faults of the request or the queue.
enum class Refusal : std::uint8_t {
    none,
    queue_full,      ///< ENOMEM, ENOSPC or -FI_EAGAIN where the sign and code mean "no room"
    too_many_sges,   ///< found before the provider was asked
    inline_too_long, ///< found before the provider was asked
    invalid,         ///< bad key, opcode or argument; native_errno tells
    queue_broken,    ///< the queue pair is in error or closed
};

struct PostResult {
    std::uint32_t accepted = 0; ///< requests taken, from the front of the batch
    Refusal refusal = Refusal::none;
    int native_errno = 0; ///< positive errno, normalised
};

/// ibv_wc_opcode, as far as used.
enum class CompletionKind : std::uint8_t { send, rdma_write, rdma_read, atomic, receive, receive_rdma_with_imm };

/// ibv_wc_status by its name, provider codes mapped to the nearest.
enum class CompletionStatus : std::uint8_t {
    success,
    local_length_error,
    local_qp_operation_error,
    local_protection_error,
    flushed,
    bad_response,
    local_access_error,
    remote_invalid_request,
    remote_access_error,
    remote_operation_error,
    retry_exceeded,
    rnr_retry_exceeded,
    fatal,
    general_error,
};

struct Completion {
    std::uint64_t wr_id = 0;
    CompletionKind kind = CompletionKind::send; ///< valid only when status is success
    CompletionStatus status = CompletionStatus::success;
    bool has_immediate = false;
    bool is_receive = false;      ///< of the receive queue: valid whatever the status
    std::uint32_t byte_count = 0; ///< received bytes, GRH included where `grh_bytes` is not zero
    std::uint32_t grh_bytes = 0;  ///< bytes of GRH ahead of the payload: 40 on UD, else 0
    std::uint32_t immediate = 0;
    std::uint32_t queue_pair = 0;        ///< QueuePair::number() it belongs to
    std::uint32_t source_queue_pair = 0; ///< UD: number of the queue pair that sent it; else 0
    Cause cause{};                       ///< native code of a failure
};

/// What the device reports apart from completions.
enum class AsyncEventKind : std::uint8_t {
    port_active,
    port_error,
    queue_pair_fatal,
    completion_queue_error,
    device_removed,
    peer_unreachable, ///< `number` is a PeerHandle: the way to this peer is over, and no request may be left to say so
};

struct AsyncEvent {
    AsyncEventKind kind{};
    std::uint32_t number = 0; ///< queue pair, port or peer it is about
};

/// An address on the fabric in the backend's own form: handed from one end to the other, never read by the core. At
/// most max_address_bytes.
using Address = std::vector<std::byte>;
inline constexpr std::size_t max_address_bytes = 512;

} // namespace verbena::wire
