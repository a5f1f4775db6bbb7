#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wire/queue_pair.hpp"

#include "shm/process.hpp"
#include "shm/records.hpp"
#include "shm/region_table.hpp"
#include "shm/ring.hpp"
#include "shm/segment.hpp"
#include "shm/sge_cursor.hpp"

namespace verbena::shm {

class CompletionQueue;
class Device;

/// A connected pair of queues in shared memory. Progress-thread only.
///
/// queue_pair.cpp has its life, queue_pair_datapath.cpp posting, sending and receiving, remote_access.cpp READ and
/// WRITE as their initiator, responder.cpp as their target where they go through the ring.
///
/// Requests execute one at a time, in posting order: a READ or WRITE is done before the next one starts. So completions
/// come in order, one frees all older ones, and a fence asks for nothing more.
///
/// A send is complete when the message is in the peer's segment, which the peer holds: our end changes nothing about
/// it. A message that finds no receive posted waits in the ring, and all behind it.
class QueuePair final : public wire::QueuePair {
  public:
    QueuePair(Device& device, std::uint32_t number, const wire::QueuePairOptions& options);
    ~QueuePair() override;

    [[nodiscard]] std::uint32_t number() const override { return number_; }
    [[nodiscard]] const wire::Granted& granted() const override { return granted_; }
    [[nodiscard]] wire::QueuePairInfo describe() const override;
    [[nodiscard]] wire::Address address() const override;
    void connect(std::span<const std::byte> remote) override;
    wire::PeerHandle resolve(std::span<const std::byte> remote) override;
    wire::PostResult post_send(std::span<const wire::WorkRequest> requests) override;
    wire::PostResult post_receive(std::span<const wire::ReceiveRequest> requests) override;
    void fail() override;

    /// One step: what came in, what waits to go out. Called by the completion queues. Hot path.
    void progress() noexcept;

    /// The completion of request `number` was polled: it and all older ones of its queue are free. Hot path.
    void retire(bool is_receive, std::uint64_t number) noexcept {
        (is_receive ? receives_retired_ : retired_) = number + 1;
    }

  private:
    /// A posted send, WRITE or READ; its list is in sges_.
    struct Request {
        std::uint64_t wr_id = 0;
        wire::Opcode opcode = wire::Opcode::send;
        std::uint8_t flags = 0;
        /// Of a READ or WRITE that goes through the ring: what was said to the peer, and what it answered.
        enum class Stage : std::uint8_t { fresh, announced, answered, refused } stage = Stage::fresh;
        bool started = false; ///< its first fragment is out
        std::uint32_t immediate = 0;
        std::uint32_t length = 0; ///< bytes
        wire::RemoteAddress remote{};
        SgeCursor cursor;
    };
    struct Receive {
        std::uint64_t wr_id = 0;
        SgeCursor cursor;
    };
    /// What the peer asked of our memory through the ring. It waits for each answer, so there is one at most.
    struct Served {
        enum class Kind : std::uint8_t { none, read, write, write_answer } kind = Kind::none;
        bool refused = false;
        bool has_immediate = false;
        std::uint32_t immediate = 0;
        wire::RemoteAddress remote{};
        std::uint64_t left = 0; ///< bytes
        std::uint64_t length = 0;
    };
    enum class Step : std::uint8_t { done, waits, failed };

    // queue_pair.cpp
    void try_attach(std::uint64_t header);
    void set_error() noexcept;
    void fail_request(wire::CompletionStatus status, int error) noexcept;
    void break_off(int error) noexcept;
    void look_at_peer() noexcept;
    void complete_send(const Request& request, wire::CompletionStatus status, int error) noexcept;
    void complete_receive(wire::Completion completion) noexcept;

    // queue_pair_datapath.cpp
    [[nodiscard]] wire::Refusal check(const wire::WorkRequest& request) const noexcept;
    void take(const wire::WorkRequest& request) noexcept;
    void keep_inline_payload(std::uint64_t first) noexcept;
    void advance() noexcept;
    [[nodiscard]] Step execute(Request& request) noexcept;
    [[nodiscard]] Step execute_send(Request& request) noexcept;
    [[nodiscard]] bool publish_fragment(Request& request, RecordKind kind) noexcept;
    void take_fragment(SgeCursor& cursor, const Record& record) noexcept;
    [[nodiscard]] bool publish(const Record& record, const void* payload) noexcept;
    bool consume() noexcept;
    [[nodiscard]] bool handle(const Record& record) noexcept;
    [[nodiscard]] bool handle_send(const Record& record) noexcept;
    [[nodiscard]] bool handle_notice(const Record& record) noexcept;
    [[nodiscard]] bool has_receive() const noexcept { return receives_used_ != receives_posted_; }
    [[nodiscard]] Receive& next_receive() noexcept { return receives_[receives_used_ & (receives_.size() - 1)]; }
    [[nodiscard]] Request& current() noexcept { return requests_[executed_ & (requests_.size() - 1)]; }

    // remote_access.cpp
    [[nodiscard]] Step execute_remote(Request& request) noexcept;
    [[nodiscard]] Step attach_step(Request& request) noexcept;
    [[nodiscard]] Step ring_step(Request& request) noexcept;
    [[nodiscard]] Step end_remote(Request& request) noexcept;
    [[nodiscard]] bool awaits_answer(bool of_read) noexcept;
    [[nodiscard]] bool handle_read_data(const Record& record) noexcept;
    [[nodiscard]] bool handle_answer(const Record& record) noexcept;

    // responder.cpp
    [[nodiscard]] bool handle_request(const Record& record) noexcept;
    [[nodiscard]] bool handle_write_data(const Record& record) noexcept;
    bool serve() noexcept;

    Device& device_;
    const std::uint32_t number_;
    CompletionQueue& send_cq_;
    CompletionQueue& receive_cq_;
    wire::Granted granted_;
    wire::QueuePairState state_ = wire::QueuePairState::init;

    // Requests count up for ever; a queue holds [retired, posted), of which [executed, posted) are still to do. The
    // tables are as long as the next power of two, so that a mask finds an entry.
    std::vector<Request> requests_;
    std::vector<wire::Sge> sges_;    ///< send_sges for each request
    std::vector<std::byte> inlined_; ///< inline_bytes for each request: payload of those that wait
    std::uint64_t posted_ = 0;
    std::uint64_t executed_ = 0;
    std::uint64_t retired_ = 0;
    std::vector<Receive> receives_;
    std::vector<wire::Sge> receive_sges_; ///< receive_sges for each receive
    std::uint64_t receives_posted_ = 0;
    std::uint64_t receives_used_ = 0;
    std::uint64_t receives_retired_ = 0;

    Segment inbound_; ///< ours: what the peer writes
    std::uint64_t nonce_;
    Consumer in_;
    std::optional<std::uint64_t> incoming_; ///< bytes of the message of which fragments have come
    Served served_;

    Segment outbound_; ///< the peer's
    Segment peer_regions_;
    std::optional<Producer> out_;
    ProcessId peer_{};
    std::uint32_t peer_queue_pair_ = 0;
    bool attaches_ = false;     ///< READ and WRITE go by cross-memory attach
    std::string attach_note_;   ///< which way they go, and why
    bool peer_is_gone_ = false; ///< said to the next request
    std::uint32_t idle_steps_ = 0;
};

} // namespace verbena::shm
