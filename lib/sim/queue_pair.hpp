#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <verbena/memory.hpp>

#include "sim/event_queue.hpp"
#include "sim/request.hpp"
#include "sim/stream.hpp"
#include "wire/queue_pair.hpp"

namespace verbena::sim {

class CompletionQueue;
class Device;

/// A simulated queue pair. Progress-thread only.
///
/// queue_pair.cpp has its life and its completions, post.cpp what is taken and what is refused, requester.cpp how
/// messages leave and are repeated, responder.cpp what they do at the other end, datagram.cpp what UD does instead.
class QueuePair final : public wire::QueuePair {
  public:
    QueuePair(Device& device, std::uint32_t number, const wire::QueuePairOptions& options);
    ~QueuePair() override;

    std::uint32_t number() const override { return number_; }
    const wire::Granted& granted() const override { return granted_; }
    wire::QueuePairInfo describe() const override;
    wire::Address address() const override;
    void connect(std::span<const std::byte> remote) override;
    wire::PeerHandle resolve(std::span<const std::byte> remote) override;
    wire::PostResult post_send(std::span<const wire::WorkRequest> requests) override;
    wire::PostResult post_receive(std::span<const wire::ReceiveRequest> requests) override;
    void fail() override { enter_error(); }

    /// The fabric says that something happens to a message that this queue pair sends.
    void handle(const Event& event);
    /// A completion has been polled: what that frees is the accounting rule.
    void on_polled(std::uint64_t slot) noexcept;
    void on_receive_polled() noexcept;

  private:
    struct Receive {
        std::uint64_t wr_id = 0;
        std::vector<wire::Sge> list;
    };

    // queue_pair.cpp
    void enter_error();
    void enter_error_when_a_queue_died();
    void complete(Request& request, wire::CompletionStatus status);
    void complete_receive(wire::CompletionStatus status, const Request* message);
    [[nodiscard]] bool is_connected_kind() const noexcept;
    [[nodiscard]] bool has_receive() const noexcept { return receives_consumed_ != receives_posted_; }
    [[nodiscard]] Receive& next_receive() noexcept { return receives_[receives_consumed_ % receives_.size()]; }
    [[nodiscard]] bool may_use(std::span<const wire::Sge> list, Access access) const;

    // post.cpp
    [[nodiscard]] wire::Refusal why_refused(const wire::WorkRequest& request) const;
    [[nodiscard]] wire::Refusal why_refused(const wire::ReceiveRequest& request) const;
    /// Fills in the errno, and turns "no room" into one of this provider's ways to say it.
    void say_why(wire::PostResult& result) const;
    void admit(const wire::WorkRequest& request);
    void admit(const wire::ReceiveRequest& request);

    // requester.cpp
    void wake(std::uint32_t stream);
    void transmit(std::uint32_t stream);
    void travel(std::uint32_t stream, std::uint64_t message, EventKind kind, Time left);
    void on_response(std::uint32_t stream, std::uint64_t message);
    void on_retransmit(std::uint32_t stream);
    void lose(std::uint32_t stream, std::uint64_t message);
    void recover(std::uint32_t stream, Recovery how, Time at);
    void finish(std::uint32_t stream, std::uint64_t message, wire::CompletionStatus status);
    [[nodiscard]] bool gather(Request& request);
    [[nodiscard]] bool scatter_response(const Request& request);
    static void copy_list(Request& request);
    static void scatter(std::span<const std::byte> payload, std::span<const wire::Sge> list);
    void schedule(Time at, EventKind kind, std::uint32_t stream, std::uint64_t message = 0);

    // responder.cpp: the first four run on the requester's side of the object graph, the others on the peer's.
    void on_arrival(const Event& event);
    void on_execution(std::uint32_t stream, std::uint64_t message);
    /// Places the WRITEs before `message` that arrived and wait.
    void place_writes(std::uint32_t stream, std::uint64_t message, QueuePair& peer);
    void execute(std::uint32_t stream, std::uint64_t message, QueuePair& peer);
    void respond(std::uint32_t stream, std::uint64_t message, QueuePair& peer);
    [[nodiscard]] bool listens_to(const QueuePair& requester) const noexcept;
    [[nodiscard]] wire::CompletionStatus perform(Request& request);
    [[nodiscard]] wire::CompletionStatus take_in(const Request& request);
    [[nodiscard]] wire::CompletionStatus refuse(wire::CompletionStatus status);

    // datagram.cpp
    struct Datagram {
        std::vector<std::byte> payload;
        std::uint32_t device = 0; ///< it goes to
        std::uint32_t queue_pair = 0;
        bool has_immediate = false;
        std::uint32_t immediate = 0;
    };
    void launch(std::uint32_t stream, const Request& request);
    void land(const Event& event);
    void take_datagram(const Datagram& datagram, std::uint32_t from);

    Device& device_;
    std::uint32_t number_;
    wire::QueuePairOptions options_;
    CompletionQueue& send_cq_;
    CompletionQueue& receive_cq_;
    wire::Granted granted_;
    wire::QueuePairState state_;
    std::string remote_;
    std::uint32_t remote_mtu_bytes_ = 0;

    std::vector<Request> requests_; ///< as many as the granted depth; never moved
    std::vector<Request*> free_;    ///< those not in a stream
    std::uint64_t posted_ = 0;      ///< slots of the send queue taken since the start
    std::uint64_t retired_ = 0;     ///< of those, free again
    std::vector<Stream> streams_;   ///< connected: one, after connect()

    std::vector<Receive> receives_; ///< a ring as long as the granted depth
    std::uint64_t receives_posted_ = 0;
    std::uint64_t receives_consumed_ = 0;
    std::uint32_t receive_slots_used_ = 0;
    std::vector<Event> waiting_; ///< arrivals of an RDM peer that wait for a receive

    std::vector<Datagram> datagrams_; ///< on the wire
    std::vector<std::uint32_t> free_datagrams_;
};

} // namespace verbena::sim
