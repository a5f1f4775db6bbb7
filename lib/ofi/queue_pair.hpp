#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <sys/uio.h>

#include "wire/capabilities.hpp"
#include "wire/queue_pair.hpp"

#include "ofi/handle.hpp"
#include "ofi/slots.hpp"

namespace verbena::ofi {

class CompletionQueue;

/// A reliable datagram endpoint with its address vector: one for all peers. Progress-thread only.
///
/// What was granted is what post_send() takes, always. libfabric answers -FI_EAGAIN while it connects to a peer, or
/// when its own queues are full: such a request stays in its slot, in order behind the others for that peer, and is
/// offered again at each poll of the completion queues. It ends with retry_exceeded when libfabric has nothing of that
/// peer's in hand and takes nothing for `peer_timeout`: over TCP it would try to reach a dead peer for ever.
class QueuePair final : public wire::QueuePair {
  public:
    /// @param advertise host told to peers in place of the bound one; empty: the bound one.
    QueuePair(fid_domain& domain, const fi_info& info, const wire::Capabilities& capabilities,
              const std::string& advertise, std::uint32_t number, const wire::QueuePairOptions& options,
              std::chrono::nanoseconds peer_timeout);
    ~QueuePair() override;

    [[nodiscard]] bool moves_rma_while_posting() const noexcept { return delivery_ == 0; }
    [[nodiscard]] bool is_failed() const noexcept { return !endpoint_; }
    [[nodiscard]] std::uint32_t number() const override { return number_; }
    [[nodiscard]] const wire::Granted& granted() const override { return granted_; }
    [[nodiscard]] wire::QueuePairInfo describe() const override;
    [[nodiscard]] wire::Address address() const override { return address_; }
    void connect(std::span<const std::byte> remote) override;
    wire::PeerHandle resolve(std::span<const std::byte> remote) override;
    wire::PostResult post_send(std::span<const wire::WorkRequest> requests) override;
    wire::PostResult post_receive(std::span<const wire::ReceiveRequest> requests) override;
    void fail() override;

    /// Offers waiting requests to the provider again. Called by the completion queues. Hot path.
    void post_waiting();
    /// libfabric is done with the slot; its completion waits to be polled or is being polled.
    void finish(const Slot& slot) noexcept {
        if (!slot.is_receive) --peer_of(slot).submitted;
    }
    /// The READ or WRITE that libfabric has had longest; null when there is none. After a failure only.
    [[nodiscard]] Slot* oldest_rma() noexcept;
    /// The slot's completion has been polled.
    void retire(Slot& slot) noexcept { (slot.is_receive ? receives_ : sends_).give_back(slot); }

  private:
    /// One resolved peer, and the requests to it that wait for the provider, oldest first.
    struct Peer {
        fi_addr_t address = FI_ADDR_NOTAVAIL;
        std::uint32_t first_waiting = no_slot;
        std::uint32_t last_waiting = no_slot;
        std::uint32_t submitted = 0;                          ///< requests that libfabric has in hand
        std::chrono::steady_clock::time_point silent_since{}; ///< while requests wait and none is in hand; else 0
    };

    [[nodiscard]] wire::Refusal check(const wire::WorkRequest& request, int& native_errno) const noexcept;
    [[nodiscard]] std::uint64_t flags_of(const wire::WorkRequest& request) const noexcept;
    void fill(Slot& slot, const wire::WorkRequest& request) noexcept;
    [[nodiscard]] ssize_t submit(Slot& slot) noexcept;
    [[nodiscard]] ssize_t submit_message(Slot& slot, fi_addr_t peer) noexcept;
    [[nodiscard]] ssize_t submit_rma(Slot& slot, fi_addr_t peer) noexcept;
    [[nodiscard]] ssize_t submit_atomic(Slot& slot, fi_addr_t peer) noexcept;
    [[nodiscard]] ssize_t hand_over(Slot& slot) noexcept;
    void wait(Slot& slot, Peer& peer) noexcept;
    [[nodiscard]] bool has_given_up(Peer& peer) noexcept;
    Slot& take_waiting(Peer& peer) noexcept;
    void complete_in_error(Slot& slot, int code) noexcept;
    [[nodiscard]] Peer& peer_of(const Slot& slot) noexcept { return peers_[slot.request.peer.value - 1]; }
    [[nodiscard]] iovec* iov_of(const Slot& slot) noexcept { return &iovs_[slot.index * granted_.send_sges]; }
    [[nodiscard]] void** descriptors_of(const Slot& slot) noexcept {
        return &descriptors_[slot.index * granted_.send_sges];
    }
    void flush(SlotTable& slots);

    const wire::Capabilities capabilities_;
    const std::string provider_;
    const std::uint32_t number_;
    /// FI_DELIVERY_COMPLETE, or 0 where a completion means as much without it. Over TCP a message would else be "sent"
    /// once the local socket took it, and a WRITE that the peer refused would look well. shm copies into the peer's
    /// memory before it completes; with the flag its RMA would need the peer to poll.
    const std::uint64_t delivery_;
    wire::Granted granted_;
    CompletionQueue& send_cq_;
    CompletionQueue& receive_cq_;
    SlotTable sends_;
    SlotTable receives_;
    std::vector<iovec> iovs_;         ///< send_sges for each send slot
    std::vector<void*> descriptors_;  ///< local keys, likewise
    std::vector<std::byte> inlined_;  ///< inline_bytes for each send slot: payload of those that wait
    std::vector<iovec> receive_iovs_; ///< receive_sges: libfabric copies a list while posting
    std::vector<void*> receive_descriptors_;
    std::vector<Peer> peers_; ///< PeerHandle 1 is the first
    const std::chrono::nanoseconds peer_timeout_;
    std::uint64_t last_submitted_ = 0;
    std::uint32_t waiting_ = 0; ///< requests of all peers that wait
    Handle<fid_av> peers_table_;
    Handle<fid_ep> endpoint_; ///< null once failed
    wire::Address address_;
    std::string bound_; ///< as libfabric prints it
};

} // namespace verbena::ofi
