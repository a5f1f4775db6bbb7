/// @file
/// What a program sends on: the way to one peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <verbena/export.hpp>
#include <verbena/operation.hpp>
#include <verbena/remote_region.hpp>

namespace verbena {

using Tag = std::uint64_t;

/// The channel beneath an endpoint, both ends, for diagnosis. A snapshot.
struct ChannelInfo {
    std::uint32_t rank = 0;
    std::string state;         ///< queue-pair state "RTS", "ERR"; "ready" where the backend has none
    std::string transport;     ///< "RC", "UD"; empty where the backend has but one
    std::string local_address; ///< "rxe1 port 1 GID 1 ::ffff:10.9.0.1 (RoCE v2) qp 0x11"
    std::string remote_address;
    unsigned local_mtu_bytes = 0; ///< active MTU of this end; 0 where there is none
    unsigned remote_mtu_bytes = 0;
    unsigned path_mtu_bytes = 0;  ///< the minimum of both
    std::uint32_t send_depth = 0; ///< work requests granted, read back
    std::uint32_t inline_bytes = 0;
    std::uint32_t receive_window = 0; ///< messages the peer may have on the way to us
    std::uint32_t credits = 0;        ///< messages we may send now
    std::uint32_t queued = 0;         ///< operations waiting for room
    std::string waiting_for;          ///< why they wait: "send queue", "peer credit"; empty when none do
    std::uint64_t messages_sent = 0;
    std::uint64_t messages_received = 0;
    std::string remote_access;     ///< who puts and gets: "RDMA", or "the peer's engine" where the device cannot
    std::string atomics;           ///< who counts: "the device; swap by compare-and-swap", or "the peer's engine"
    std::uint64_t divergences = 0; ///< refusals of the provider that the ledger did not foresee
    std::uint64_t violations = 0;  ///< messages of no rank of this job that reached this rank's shared queue pair
    // UD: what the library's own transport did; else 0.
    std::uint64_t packets_sent = 0;       ///< to this peer
    std::uint64_t packets_repeated = 0;   ///< of them, sent again
    std::uint64_t packets_duplicated = 0; ///< of this peer, that arrived a second time
    std::uint64_t packets_refused = 0;    ///< that arrived and were of no peer of this job: strays, or forged
    std::string failure;                  ///< the first root cause; empty while healthy
};

/// A view of the way to one peer: copy it freely, it must not outlive its Runtime. One caller at a time.
///
/// Messages of one pair that match the same receive arrive in the order in which they were sent. Any length, zero
/// included, any kind of memory that the Runtime knows.
class VERBENA_API Endpoint {
  public:
    /// Completes when the buffer may be reused; that says nothing about the peer's receive.
    Operation send(std::span<const std::byte> message, Tag tag = 0);
    /// Completes when a message with this tag is in `buffer`. A longer one ends with code truncated.
    Operation receive(std::span<std::byte> buffer, Tag tag = 0);

    // One-sided: the peer's program takes no part. Where the device does the work (describe() says so) its engine takes
    // none either; elsewhere the peer must make progress. A region must be this peer's; one that is not, a place
    // outside it or a right that it lacks ends the operation with invalid_argument, and nothing is sent. Memory of a
    // region that has gone is noticed where it lay: the operation ends with refused, and on a connected queue pair (RC)
    // so does the channel. A put may be complete before that is known: then flush() tells.

    /// Completes when `source` may be reused, which says nothing about the peer's memory: see flush(). Any length; a
    /// long one is made of several requests, and no part of it is visible in any particular order.
    Operation put(std::span<const std::byte> source, const RemoteRegion& to, std::uint64_t offset = 0);
    /// Completes when the bytes are in `destination`.
    Operation get(std::span<std::byte> destination, const RemoteRegion& from, std::uint64_t offset = 0);
    /// As put, and then stores `value` in the word at `signal_offset` of `signal`, a multiple of 8 bytes in memory.
    /// Whoever reads that word with acquire order and finds the value finds the data too, whatever the wire reorders.
    Operation put_with_signal(std::span<const std::byte> source, const RemoteRegion& to, std::uint64_t offset,
                              const RemoteRegion& signal, std::uint64_t signal_offset, std::uint64_t value);

    /// Atomics on one 64-bit word, aligned in the owner's memory; indivisible among the atomics of all ranks on it.
    /// They complete when the value before is in `before`, where that is not null. Do not touch the word otherwise
    /// while peers may, except by atomic loads.
    Operation fetch_add(const RemoteRegion& at, std::uint64_t offset, std::uint64_t addend,
                        std::uint64_t* before = nullptr);
    /// Stores `desired` where the word is `expected`.
    Operation compare_and_swap(const RemoteRegion& at, std::uint64_t offset, std::uint64_t expected,
                               std::uint64_t desired, std::uint64_t* before = nullptr);
    Operation swap(const RemoteRegion& at, std::uint64_t offset, std::uint64_t value, std::uint64_t* before = nullptr);

    /// What is started later on this endpoint takes effect at the peer after all that was started before.
    void fence();
    /// Completes when every earlier send on this endpoint has been acknowledged by the peer's device, and every earlier
    /// put and atomic is visible in the peer's memory. Ends with the first failure of a put that was complete before.
    Operation flush();

    [[nodiscard]] std::uint32_t rank() const noexcept { return rank_; }
    [[nodiscard]] ChannelInfo describe() const;

    Endpoint(detail::RuntimeCore* core, std::uint32_t rank) noexcept : core_(core), rank_(rank) {}

  private:
    detail::RuntimeCore* core_;
    std::uint32_t rank_;
};

} // namespace verbena
