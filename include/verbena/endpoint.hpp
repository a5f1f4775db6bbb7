/// @file
/// What a program sends on: the way to one peer.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <verbena/admission.hpp>
#include <verbena/export.hpp>
#include <verbena/operation.hpp>
#include <verbena/ordering.hpp>
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
    std::uint64_t queued_bytes = 0;   ///< what they hold; the setting `backlog-limit` bounds it
    std::string waiting_for;          ///< why they wait: "send queue", "peer credit"; empty when none do
    std::uint64_t messages_sent = 0;
    std::uint64_t messages_received = 0;
    std::string remote_access; ///< who puts and gets: "RDMA", or "the peer's engine" where the device cannot
    std::string atomics;       ///< who counts: "the device; swap by compare-and-swap", or "the peer's engine"
    Ordering ordering = Ordering::hazard;
    std::uint64_t fences = 0;              ///< operations that carried a fence because of what they overlap
    std::uint64_t order_waits = 0;         ///< operations that waited for earlier ones because of what they overlap
    std::uint64_t untracked = 0;           ///< of those, because too many were unfinished to watch one more
    std::uint64_t divergences = 0;         ///< refusals of the provider that the ledger did not foresee
    std::string last_divergence;           ///< the ledger when the last one happened; empty while there was none
    std::uint64_t receive_divergences = 0; ///< the same for receives, of all channels of this rank
    std::uint64_t violations = 0; ///< messages of no rank of this job that reached this rank's shared queue pair
    std::uint64_t flushed = 0;    ///< requests that ended because their queue pair did: effects, not causes
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
    /// Completes when the buffer may be reused; that says nothing about the peer's receive. Waits for room by itself,
    /// as far as the setting `backlog-limit` goes; beyond it the operation ends at once with would_block, nothing is
    /// taken, and asking again after some progress succeeds.
    Operation send(std::span<const std::byte> message, Tag tag = 0);
    /// The same for a program that paces itself: where the message would not be taken, why.
    [[nodiscard]] Admission try_send(std::span<const std::byte> message, Tag tag = 0);
    /// Calls once, from progress(), as soon as a message of so many bytes would be taken, or the channel is over. The
    /// callback may send.
    void on_room(std::function<void()> callback, std::size_t bytes = 0);
    /// Waits for that, at most the setting `operation-timeout`; timed_out then, and the channel's failure once it has
    /// one.
    Status wait_for_room(std::size_t bytes = 0);
    Status wait_for_room(std::size_t bytes, std::chrono::nanoseconds limit);
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

    /// For what is started later on this endpoint. The setting `ordering` says how it begins.
    void set_ordering(Ordering ordering);
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
