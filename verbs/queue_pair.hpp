#pragma once

#include <optional>
#include <vector>

#include "verbs/address.hpp"
#include "verbs/handles.hpp"
#include "wire/queue_pair.hpp"

namespace verbena::verbs {

class CompletionQueue;
class Device;

/// One ibv_qp. RC: in INIT when made, so that receives can be posted; RTS after connect(). UD: in RTS when made, with
/// an address handle for each peer that resolve() was told of. Progress-thread only.
class QueuePair final : public wire::QueuePair {
  public:
    /// @throws Error naming what was asked for and the device's limits
    QueuePair(Device& device, const wire::QueuePairOptions& options);
    ~QueuePair() override;

    std::uint32_t number() const override { return local_.number; }
    const wire::Granted& granted() const override { return granted_; }
    wire::QueuePairInfo describe() const override;
    wire::QueuePairInfo describe_peer(wire::PeerHandle peer) const override;
    wire::Address address() const override { return encode(local_); }
    void connect(std::span<const std::byte> remote) override;
    wire::PeerHandle resolve(std::span<const std::byte> remote) override;
    wire::PostResult post_send(std::span<const wire::WorkRequest> requests) override;
    wire::PostResult post_receive(std::span<const wire::ReceiveRequest> requests) override;
    void fail() override;

  private:
    /// A peer of a UD queue pair.
    struct Peer {
        AddressHandle handle;
        QueuePairAddress address;
    };

    void create();
    void prepare_slots();
    void to_init();
    void to_ready_to_receive(const QueuePairAddress& remote);
    void to_datagram_service();
    void to_ready_to_send(const QueuePairAddress& remote);
    void modify(ibv_qp_attr& attributes, int mask, const char* step, const QueuePairAddress* remote);
    [[nodiscard]] std::optional<ibv_qp_state> query_state() const;

    wire::Refusal prepare(const wire::WorkRequest& request, std::size_t slot);
    wire::Refusal prepare(const wire::ReceiveRequest& request, std::size_t slot);
    template <class Request, class Native, class Post>
    wire::PostResult post_pieces(std::span<const Request> requests, std::span<Native> slots, Post post);
    [[nodiscard]] wire::PostResult refused(std::uint32_t accepted, int result, int system_errno) const;

    Device& device_;
    wire::QueuePairOptions options_;
    CompletionQueue* send_queue_;
    CompletionQueue* receive_queue_;
    QueuePairHandle queue_pair_;
    wire::Granted granted_;
    QueuePairAddress local_;
    std::optional<QueuePairAddress> remote_;
    std::vector<Peer> peers_; ///< by PeerHandle - 1
    std::uint32_t path_mtu_bytes_ = 0;
    bool failed_ = false;

    // Requests are written into these, linked in advance, and handed over in pieces of at most this many.
    static constexpr std::size_t slot_count = 16;
    std::vector<ibv_send_wr> sends_;
    std::vector<ibv_recv_wr> receives_;
    std::vector<ibv_sge> send_sges_;    ///< granted_.send_sges for each of sends_
    std::vector<ibv_sge> receive_sges_; ///< granted_.receive_sges for each of receives_
};

} // namespace verbena::verbs
