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

namespace verbena {

using Tag = std::uint64_t;

/// The channel beneath an endpoint, both ends, for diagnosis. A snapshot.
struct ChannelInfo {
    std::uint32_t rank = 0;
    std::string state;         ///< queue-pair state "RTS", "ERR"; "ready" where the backend has none
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
    std::uint64_t divergences = 0; ///< refusals of the provider that the ledger did not foresee
    std::uint64_t violations = 0;  ///< messages of no rank of this job that reached this rank's shared queue pair
    std::string failure;           ///< the first root cause; empty while healthy
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
    /// Completes when every earlier send on this endpoint has been acknowledged by the peer's device.
    Operation flush();

    [[nodiscard]] std::uint32_t rank() const noexcept { return rank_; }
    [[nodiscard]] ChannelInfo describe() const;

    Endpoint(detail::RuntimeCore* core, std::uint32_t rank) noexcept : core_(core), rank_(rank) {}

  private:
    detail::RuntimeCore* core_;
    std::uint32_t rank_;
};

} // namespace verbena
