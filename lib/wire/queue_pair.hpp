#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "wire/types.hpp"

namespace verbena::wire {

class CompletionQueue;

/// What is asked of a new queue pair. Ask for no more than is used: on mlx5 the operations, SGEs and inline size asked
/// for change the granted depth by a factor of four.
struct QueuePairOptions {
    CompletionQueue* send_cq = nullptr;
    CompletionQueue* receive_cq = nullptr;
    std::uint32_t send_depth = 128;
    std::uint32_t receive_depth = 64;
    std::uint32_t send_sges = 1;
    std::uint32_t receive_sges = 1;
    std::uint32_t inline_bytes = 0;     ///< wished for; less may be granted
    std::uint32_t max_mtu_bytes = 4096; ///< upper bound on the path MTU
    std::uint8_t timeout = 14;          ///< local ACK timeout code: 4.096 us * 2^timeout (IBTA 9.9)
    std::uint8_t retry_count = 6;       ///< transport retries; 7 would be for ever on rxe
    std::uint8_t rnr_retry = 6;         ///< the credits make RNR impossible: a finite count shows a fault of ours
    std::uint8_t min_rnr_timer = 12;    ///< 0.64 ms (IBTA table 46); code 0 would be 655 ms
    std::uint8_t max_read_atomic = 16;  ///< upper bound; the minimum with the peer's limit is used
};

/// What was granted, read back.
struct Granted {
    std::uint32_t send_depth = 0;
    std::uint32_t receive_depth = 0;
    std::uint32_t send_sges = 0;
    std::uint32_t receive_sges = 0;
    std::uint32_t inline_bytes = 0;
    std::uint32_t max_read_atomic = 0; ///< outstanding READs and atomics; known once connected
};

/// Names follow the IBTA queue-pair states. `ready` stands for what has no states (libfabric).
enum class QueuePairState : std::uint8_t { reset, init, rtr, rts, sqd, sqe, err, ready };
[[nodiscard]] std::string_view name(QueuePairState state) noexcept;

/// Both ends of a queue pair, for diagnosis.
struct QueuePairInfo {
    QueuePairState state = QueuePairState::reset;
    std::string local;  ///< "rxe1 port 1 GID 1 ::ffff:10.9.0.1 (RoCE v2) qp 0x11"
    std::string remote; ///< the same of the peer; empty before connect
    std::uint32_t local_mtu_bytes = 0;
    std::uint32_t remote_mtu_bytes = 0;
    std::uint32_t path_mtu_bytes = 0;
    std::string transport; ///< "RC", "UD"; empty where the device has but one

    // Where the transport is software of ours; else 0 and empty.
    std::uint64_t packets_sent = 0;
    std::uint64_t packets_repeated = 0;   ///< of them, sent again
    std::uint64_t packets_duplicated = 0; ///< that arrived a second time
    std::uint64_t packets_refused = 0;    ///< that arrived and were of no peer of ours: strays, or forged
    std::string failure;                  ///< why the way to the peer is over
};

/// A pair of queues. Made by a Device, which outlives it, as do its completion queues. Progress-thread only.
///
/// Destruction takes it out of service; what was posted and has not completed never will.
class QueuePair {
  public:
    virtual ~QueuePair() = default;

    [[nodiscard]] virtual std::uint32_t number() const = 0; ///< unique within its device
    [[nodiscard]] virtual const Granted& granted() const = 0;
    [[nodiscard]] virtual QueuePairInfo describe() const = 0;
    /// Datagram queue pairs: with what is known about one peer.
    [[nodiscard]] virtual QueuePairInfo describe_peer(PeerHandle) const { return describe(); }

    /// What the other end needs for connect() or resolve().
    [[nodiscard]] virtual Address address() const = 0;

    /// Connected queue pairs: ready to receive and to send, path MTU and read depth the minimum of both ends. Once.
    /// @throws Error naming local device, port, GID, remote GID, MTU and the step that failed.
    virtual void connect(std::span<const std::byte> remote) = 0;

    /// Datagram queue pairs: a handle for WorkRequest::peer. @throws Error
    virtual PeerHandle resolve(std::span<const std::byte> remote) = 0;

    /// Takes requests from the front of the batch until one is refused. Checks SGE count and inline length itself, so
    /// that queue_full means just that. Hot path.
    virtual PostResult post_send(std::span<const WorkRequest> requests) = 0;
    virtual PostResult post_receive(std::span<const ReceiveRequest> requests) = 0;

    /// Moves to the error state: everything outstanding flushes, as far as the provider flushes. Idempotent.
    virtual void fail() = 0;
    /// Datagram queue pairs: nothing more goes to or comes from this peer; what is outstanding for it flushes, as far
    /// as the provider can.
    virtual void abandon(PeerHandle) {}
};

} // namespace verbena::wire
