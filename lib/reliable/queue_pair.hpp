/// @file
/// One queue pair for all peers. Progress-thread only.
///
///   queue_pair.cpp   its life, what it says about itself, how a peer ends
///   post.cpp         requests and receives are taken; completions are given
///   transmit.cpp     packets leave
///   arrival.cpp      packets arrive: who sent them, what they acknowledge, in which order they are taken in
///   take_in.cpp      what a packet brings: a piece of a message, READ, WRITE or response
///   timers.cpp       progress: polling, timers, turns of the peers
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "flow/send_queue_ledger.hpp"
#include "reliable/packet.hpp"
#include "reliable/packet_pool.hpp"
#include "reliable/receive_window.hpp"
#include "reliable/send_window.hpp"
#include "wire/queue_pair.hpp"

namespace verbena::reliable {

class CompletionQueue;
class Device;

/// A list through `next` fields of a vector's elements.
struct Fifo {
    std::uint32_t head = nobody;
    std::uint32_t tail = nobody;
};

/// What is known of one peer; an idle one costs no more than this. What it needs while it is busy comes from pools.
struct Peer {
    Peer(Sequence ours, Sequence theirs) noexcept : sends(ours), receives(theirs) {}

    wire::PeerHandle native{};
    std::uint64_t session = 0; ///< of its end
    std::uint32_t rank = 0;
    std::uint32_t queue_pair = 0;
    std::uint32_t packet_bytes = 0; ///< largest that both ends take
    SendWindow sends;
    ReceiveWindow receives;
    std::unique_ptr<ReceiveWindow::Waiting> waiting;

    Fifo requests;  ///< not yet in packets, in order
    Fifo responses; ///< that we owe
    std::uint32_t responses_queued = 0;
    std::uint32_t packets_held = 0; ///< of the pool
    std::uint32_t receive = nobody; ///< slot that the message on its way goes into
    std::uint32_t received = 0;     ///< bytes of that message
    wire::CompletionStatus write_status = wire::CompletionStatus::success; ///< of the WRITE on its way

    std::uint32_t unacknowledged = 0; ///< packets that arrived since we last acknowledged
    Time acknowledge_by = 0;
    bool must_acknowledge = false;
    bool must_ask = false;      ///< nothing is left to send again, and no word has come
    bool response_next = false; ///< requests and responses take turns
    bool is_ready = false;      ///< in ready_
    bool is_timed = false;      ///< in timed_
    bool is_stalled = false;    ///< its next message finds no receive: in stalled_
    bool is_lost = false;

    std::uint32_t packets_repeated = 0;
    std::uint32_t packets_duplicated = 0;
    std::uint64_t packets_sent = 0;
};

class QueuePair final : public wire::QueuePair {
  public:
    QueuePair(Device& device, const wire::QueuePairOptions& options);
    ~QueuePair() override;

    std::uint32_t number() const override { return native_->number(); }
    const wire::Granted& granted() const override { return granted_; }
    wire::QueuePairInfo describe() const override;
    wire::QueuePairInfo describe_peer(wire::PeerHandle peer) const override;
    wire::Address address() const override;
    void connect(std::span<const std::byte> remote) override;
    wire::PeerHandle resolve(std::span<const std::byte> remote) override;
    wire::PostResult post_send(std::span<const wire::WorkRequest> requests) override;
    wire::PostResult post_receive(std::span<const wire::ReceiveRequest> requests) override;
    void fail() override;
    void abandon(wire::PeerHandle peer) override;

    /// Polls what is beneath, runs timers, lets packets out.
    void progress();
    /// A completion was polled: its slot is free.
    void on_polled(bool receive, std::uint32_t slot) noexcept;

  private:
    static constexpr std::uint32_t most_sges = 8;
    static constexpr std::uint32_t most_responses =
        4096; ///< one peer may wait for; more than any send queue of ours holds

    struct List {
        std::array<wire::Sge, most_sges> sges{};
        std::uint32_t count = 0;
        std::uint32_t length = 0;

        void assign(std::span<const wire::Sge> from) noexcept;
        void gather(std::uint32_t offset, std::span<std::byte> to) const noexcept;
        void scatter(std::uint32_t offset, std::span<const std::byte> from) const noexcept;
    };
    struct Request {
        std::uint64_t wr_id = 0;
        wire::Opcode opcode{};
        bool active = false;   ///< posted, not completed
        bool all_sent = false; ///< in packets, all of it
        std::uint8_t generation = 0;
        std::uint32_t peer = 0;
        std::uint32_t next = nobody;
        std::uint32_t offset = 0;         ///< bytes that are in packets
        std::uint32_t unacknowledged = 0; ///< packets of it
        std::uint32_t received = 0;       ///< READ: bytes
        std::uint32_t immediate = 0;
        wire::RemoteAddress remote{};
        List list;
    };
    struct Receive {
        std::uint64_t wr_id = 0;
        List list;
    };
    struct Response {
        std::uint32_t operation = 0;
        std::uint32_t length = 0; ///< of a READ; 0 of a WRITE
        std::uint32_t offset = 0;
        std::uint32_t next = nobody;
        std::uint64_t address = 0;
        std::uint64_t rkey = 0;
        wire::CompletionStatus status = wire::CompletionStatus::success;
    };

    // queue_pair.cpp
    void open_native();
    [[nodiscard]] Peer* find(wire::PeerHandle peer) noexcept;
    void end_peer(Peer& peer, wire::CompletionStatus first, const std::string& why, bool tell);
    [[nodiscard]] std::uint32_t index_of(const Peer& peer) const noexcept;

    // post.cpp
    [[nodiscard]] wire::Refusal why_refused(const wire::WorkRequest& request) noexcept;
    void admit(const wire::WorkRequest& request) noexcept;
    void complete(std::uint32_t request, wire::CompletionStatus status);
    void complete_receive(std::uint32_t slot, wire::CompletionStatus status, std::uint32_t bytes,
                          const PacketHeader* header);

    // transmit.cpp
    enum class Sent : std::uint8_t { something, nothing, no_room };
    Sent transmit(Peer& peer);
    [[nodiscard]] bool has_more(const Peer& peer) const noexcept;
    [[nodiscard]] bool may_fill(const Peer& peer) const noexcept;
    void fill(Peer& peer, std::uint32_t packet);
    void fill_request(Peer& peer, std::uint32_t packet, PacketHeader& header);
    void fill_response(Peer& peer, std::uint32_t packet, PacketHeader& header);
    bool emit(Peer& peer, std::uint32_t packet, Sequence sequence);
    bool acknowledge(Peer& peer);
    bool post(Peer& peer, std::uint32_t packet);
    void acknowledged(std::uint32_t packet);
    void release(std::uint32_t packet) noexcept;
    void retire(const wire::Completion& completion);

    // arrival.cpp
    void arrive(const wire::Completion& completion);
    [[nodiscard]] Peer* sender_of(const PacketHeader& header, std::uint32_t source_queue_pair) noexcept;
    /// True where the buffer must be kept.
    bool sort_in(Peer& peer, const PacketHeader& header, std::span<const std::byte> payload, std::uint32_t buffer);
    void take_in_waiting(Peer& peer);
    void repost(std::uint32_t buffer);
    [[nodiscard]] std::span<const std::byte> waiting_packet(std::uint32_t buffer) const noexcept;

    // take_in.cpp: false where it must wait for a receive
    [[nodiscard]] bool take_in(Peer& peer, const PacketHeader& header, std::span<const std::byte> payload);
    [[nodiscard]] bool take_in_message(Peer& peer, const PacketHeader& header, std::span<const std::byte> payload);
    void take_in_read(Peer& peer, const PacketHeader& header);
    void take_in_write(Peer& peer, const PacketHeader& header, std::span<const std::byte> payload);
    void take_in_response(Peer& peer, const PacketHeader& header, std::span<const std::byte> payload);
    void owe(Peer& peer, const Response& response);
    void violation(Peer& peer, const char* what);

    // timers.cpp
    void make_ready(Peer& peer);
    void watch(Peer& peer, Time until);
    void run_timers();
    void pump();

    Device& device_;
    wire::QueuePairOptions options_;
    CompletionQueue& send_cq_;
    CompletionQueue& receive_cq_;
    wire::Granted granted_;
    std::uint64_t session_;
    Sequence first_sequence_;
    bool failed_ = false;
    Time now_ = 0;

    // Beneath.
    std::unique_ptr<wire::CompletionQueue> native_cq_;
    std::unique_ptr<wire::QueuePair> native_;
    std::uint32_t packet_bytes_ = 0;
    std::uint32_t inline_bytes_ = 0;
    std::optional<flow::SendQueueLedger> ledger_;
    std::vector<std::uint32_t> packet_of_slot_; ///< by position in the send queue; nobody: it was copied while posting
    std::optional<PacketPool> packets_;
    std::vector<std::byte> receive_memory_;
    std::unique_ptr<wire::MemoryRegion> receive_region_;
    std::size_t receive_stride_ = 0;
    std::vector<std::uint32_t> receive_bytes_; ///< of a packet that waits, by buffer
    std::vector<std::uint32_t> unposted_;      ///< buffers that the device had no room for
    std::uint32_t buffers_waiting_ = 0;        ///< with packets that came early
    std::uint32_t most_buffers_waiting_ = 0;
    std::array<wire::Completion, 32> batch_;

    // Above.
    std::vector<Request> requests_; ///< as many as the granted depth; never moved
    std::vector<std::uint32_t> free_requests_;
    std::vector<Receive> receives_; ///< as many as the granted depth; never moved
    std::vector<std::uint32_t> free_receives_;
    std::vector<std::uint32_t> posted_receives_; ///< a ring, oldest first
    std::uint64_t receives_head_ = 0;
    std::uint64_t receives_tail_ = 0;
    std::vector<Response> responses_;
    std::vector<std::uint32_t> free_responses_;

    std::vector<Peer> peers_;                                 ///< by PeerHandle - 1
    std::vector<std::uint32_t> by_rank_;                      ///< index in peers_
    std::unordered_map<std::uint32_t, std::string> failures_; ///< of lost peers, by index
    std::vector<std::uint32_t> ready_;                        ///< peers with packets to send, in turn
    std::vector<std::uint32_t> timed_;                        ///< peers with a deadline
    std::vector<std::uint32_t> stalled_;
    Time next_deadline_ = ~Time{0};
    SendWindow::Pool windows_;
    LazyPool<ReceiveWindow::Waiting> waitings_;
    std::uint64_t packets_refused_ = 0;
};

} // namespace verbena::reliable
