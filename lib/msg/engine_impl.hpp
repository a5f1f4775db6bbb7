/// @file
/// The inside of msg::Engine. One file an event implements it:
///   start.cpp            a send, receive or flush is called
///   send.cpp             messages leave: eager, rendezvous, control
///   arrival.cpp          messages arrive and are matched
///   rendezvous_read.cpp  a large message is fetched
///   shared_memory.cpp    a large message in a GPU that both processes reach
///   one_sided.cpp        a put, get or atomic is called, checked, started and ended
///   one_sided_post.cpp   its RDMA requests are posted
///   emulation.cpp        its requests to the peer's engine, where the wire cannot
///   emulation_target.cpp such requests are carried out and answered
///   order_gate.cpp       what must wait for what came before
///   pump.cpp             work that waited for room goes on
///   admission.cpp        how much may wait, and who is told of room
///   completion.cpp       an operation ends
///   failure.cpp          a channel ends
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mem/space.hpp"
#include "mem/staging_pool.hpp"
#include "msg/engine.hpp"
#include "msg/header.hpp"
#include "msg/operation_table.hpp"
#include "msg/order_trace.hpp"
#include "msg/registrations.hpp"
#include "msg/unexpected.hpp"
#include "order/hazard_tracker.hpp"
#include "peer/queue_pair_manager.hpp"
#include "wire/device.hpp"

namespace verbena::msg {

/// SlotContext::purpose.
enum class Purpose : std::uint32_t { message, read, write, fetch };

/// Why a start must wait. Names what will clear it; the progress that does is under way.
enum class Room : std::uint8_t {
    yes,
    send_queue,
    peer_credit,
    peer_reply,
    read_depth,
    order,
    acknowledgement,
    channel_down
};
[[nodiscard]] std::string_view name(Room room) noexcept;

/// What an operation waits for whose request was, or was not, posted.
[[nodiscard]] constexpr Room room_of(peer::SendQueue::Posted posted) noexcept {
    switch (posted) {
    case peer::SendQueue::Posted::yes:
        break;
    case peer::SendQueue::Posted::refused:
        return Room::send_queue;
    case peer::SendQueue::Posted::broken:
        return Room::channel_down;
    }
    return Room::yes;
}

/// What fails for itself where the queue pair serves on; the others are the peer's or the device's end.
[[nodiscard]] ErrorCode code_of(wire::CompletionStatus status) noexcept;

/// A request of a peer that waits for room to answer; it keeps its receive buffer, and its credit with it.
struct HeldRequest {
    peer::BufferId buffer{};
    std::span<const std::byte> message{};
};

/// What the engine knows about one peer beyond its channel. Progress-thread only.
struct PeerState {
    Backlog backlog;         ///< sends and flushes that wait for room, in order
    OperationQueue finishes; ///< receives whose `finished` has to go out
    OperationQueue fetches;  ///< receives with READs left to post
    OperationQueue posted;   ///< receives that wait for their message
    UnexpectedQueue unexpected;
    std::uint32_t queued = 0;            ///< operations in `backlog`
    std::uint32_t awaiting_finished = 0; ///< rendezvous sends that the peer has not fetched yet

    // One-sided, ours.
    OperationQueue swaps;          ///< swaps whose next compare-and-swap has to be posted
    std::uint32_t looping = 0;     ///< swaps by compare-and-swap that have not succeeded yet
    std::uint32_t fetches_out = 0; ///< READs and atomics posted and not retired
    std::uint32_t writes_out = 0;  ///< WRITEs posted and not retired
    std::uint32_t answers = 0;     ///< requests that the peer has not answered
    bool fence_next = false;       ///< fence() was called: the next operation carries it
    Ordering ordering = Ordering::hazard;
    std::uint64_t fences = 0;
    std::uint64_t order_waits = 0;
    std::uint64_t untracked = 0;
    order::QueuedMemory queued_memory;  ///< of what is one-sided in `backlog`
    bool unsynced = false;              ///< requests without an answer since the last sync
    Status put_failure{};               ///< the first since the last flush, of a put that was complete
    wire::RemoteAddress last_written{}; ///< where the last WRITE went
    // One-sided, the peer's.
    std::vector<HeldRequest> requests; ///< from `first_request` on, in order
    std::size_t first_request = 0;
    bool front_is_done = false; ///< the atomic at the front has been done; only its answer is missing
    std::uint64_t front_before = 0;
    ErrorCode request_failure = ErrorCode::ok; ///< of a put or signal, since the last sync

    [[nodiscard]] bool has_requests() const noexcept { return first_request < requests.size(); }
    Room waiting_for = Room::yes;
    std::uint32_t down_steps = 0; ///< steps for which the queue pair refused everything without saying why
    bool active = false;          ///< in Impl::active
};

/// Somebody who waits for room in a peer's back-log.
struct RoomWatch {
    std::uint32_t rank = 0;
    std::uint64_t bytes = 0;
    std::function<void()> callback;
};

/// A receive buffer whose message has been taken in.
struct SpentBuffer {
    peer::BufferId id;
    std::uint32_t rank = 0; ///< whose message it was
    bool counted = false;   ///< its credit goes back to the peer
};

/// Progress-thread only.
struct Engine::Impl final : peer::Sink {
    Impl(Engine& engine, wire::Device& device, mem::Spaces& spaces, const EngineOptions& options);
    ~Impl() override;

    // start.cpp
    OperationId send(std::uint32_t rank, Context context, Tag tag, std::span<const std::byte> message);
    OperationId receive(std::uint32_t rank, Context context, Tag tag, std::span<std::byte> buffer);
    OperationId flush(std::uint32_t rank);
    void send_to_self(std::uint32_t index);
    /// False where memory or rank are no good: the operation is then complete with that status.
    bool prepare(std::uint32_t index, std::byte* memory, std::size_t bytes);

    /// Starts a prepared operation, or puts it behind those that wait.
    OperationId launch(std::uint32_t index);

    // one_sided.cpp
    OperationId one_sided(std::uint32_t rank, const OneSidedCall& call);
    [[nodiscard]] ErrorCode check(std::uint32_t rank, const OneSidedCall& call) const noexcept;
    [[nodiscard]] Room start_one_sided(PeerState& peer, peer::Channel& channel, std::uint32_t index);
    /// Nothing of it is on its way: it ends, or goes on where something is left to post.
    void end_one_sided(std::uint32_t index);
    void retire_one_sided(const peer::SlotContext& context, wire::CompletionStatus status, Cause cause);

    // one_sided_post.cpp
    [[nodiscard]] Room post_put(PeerState& peer, peer::Channel& channel, std::uint32_t index, order::Relation gate);
    [[nodiscard]] Room post_get(PeerState& peer, peer::Channel& channel, std::uint32_t index, order::Relation gate);
    [[nodiscard]] Room post_atomic(PeerState& peer, peer::Channel& channel, std::uint32_t index, order::Relation gate);
    [[nodiscard]] Room post_word(PeerState& peer, peer::Channel& channel, const RemotePlace& to, std::uint64_t word,
                                 std::uint32_t operation, order::Relation gate);
    [[nodiscard]] Room post_rdma(PeerState& peer, peer::Channel& channel, wire::WorkRequest& request,
                                 peer::SlotContext context);
    [[nodiscard]] Room post_write_probe(PeerState& peer, peer::Channel& channel);
    [[nodiscard]] bool may_fetch(const PeerState& peer, const peer::Channel& channel) const;

    // emulation.cpp
    [[nodiscard]] Room request_put(PeerState& peer, peer::Channel& channel, std::uint32_t index);
    [[nodiscard]] Room request_get(PeerState& peer, peer::Channel& channel, std::uint32_t index);
    [[nodiscard]] Room request_atomic(PeerState& peer, peer::Channel& channel, std::uint32_t index);
    [[nodiscard]] Room request_sync(PeerState& peer, peer::Channel& channel, std::uint32_t index);
    /// The bytes of a put, if any, lie in the next slot's buffer already. `answered` is the operation that waits for an
    /// answer, or no_operation.
    [[nodiscard]] Room post_engine_request(PeerState& peer, peer::Channel& channel, const RequestBody& body,
                                           std::size_t bytes, std::uint32_t answered, std::uint64_t position);
    void arrive_answer(std::uint32_t rank, const Header& header, std::span<const std::byte> payload);

    // emulation_target.cpp
    /// True when the receive buffer may go back at once.
    bool arrive_request(std::uint32_t rank, peer::BufferId buffer, std::span<const std::byte> message);
    /// Carries it out; false where there is no room to answer.
    [[nodiscard]] bool serve(std::uint32_t rank, std::span<const std::byte> message);
    void serve_held(std::uint32_t rank);

    // order_gate.cpp
    void fence(std::uint32_t rank);
    void set_ordering(std::uint32_t rank, Ordering ordering);
    /// What it must do for its place in the order, before the first of it is posted.
    [[nodiscard]] order::Relation gate_of(PeerState& peer, OperationState& state) noexcept;
    /// It is posted, and unfinished from now on; and it is finished.
    void watch(PeerState& peer, OperationState& state) noexcept;
    void unwatch(OneSidedState& own) noexcept;
    [[nodiscard]] order::Touch touch_of(const OperationState& state) const noexcept;
    [[nodiscard]] bool is_watched(const OperationState& state) const noexcept;
    /// An older operation waits to be posted to another peer, and touches the same memory here.
    [[nodiscard]] bool would_pass(const order::Touch& touch, std::uint64_t sequence) const noexcept;
    /// It leaves the back-log.
    void note_dequeued(PeerState& peer, OperationState::Kind kind) noexcept;

    // send.cpp
    [[nodiscard]] Room start(std::uint32_t index);
    [[nodiscard]] Room start_eager(peer::Channel& channel, std::uint32_t index);
    [[nodiscard]] Room start_rendezvous(PeerState& peer, peer::Channel& channel, std::uint32_t index);
    [[nodiscard]] Room start_flush(PeerState& peer, peer::Channel& channel, std::uint32_t index);
    [[nodiscard]] Room room_for_message(const peer::Channel& channel) const noexcept;
    /// Writes header and payload into the next slot's buffer and posts it. Needs room. On refusal nothing changed.
    [[nodiscard]] Room post_message(peer::Channel& channel, Header header, std::span<const std::byte> payload,
                                    bool want_signal);
    void cancel(std::uint32_t index);
    [[nodiscard]] Room send_finished(PeerState& peer, std::uint32_t index);
    void send_bare_grant(peer::Channel& channel);

    // arrival.cpp
    void on_retired(const peer::SlotContext& context, const wire::Completion& completion,
                    wire::CompletionStatus status) override;
    void on_message(peer::BufferId buffer, std::span<std::byte> message) override;
    void on_receive_failed(peer::BufferId buffer, const wire::Completion& completion) override;
    /// What becomes of the receive buffer, and of its credit, when a message has been looked at.
    enum class Spent : std::uint8_t { all, buffer_only, nothing };
    [[nodiscard]] Spent arrive_eager(std::uint32_t rank, const Header& header, peer::BufferId buffer,
                                     std::span<std::byte> payload);
    void arrive_rendezvous(std::uint32_t rank, const Header& header, const RendezvousOffer& offer);
    void tell_listener(std::uint32_t rank, const Header& header) const noexcept;
    void arrive_finished(std::uint32_t rank, const Header& header);
    /// Posts a receive buffer again and grants its credit, where it has one; now, or as soon as the device takes it.
    void give_back(const SpentBuffer& spent);
    void retry_give_back();
    /// Gives a receive the early message that matches it, if there is one.
    bool match_unexpected(std::uint32_t index);
    void deliver(std::uint32_t index, const Header& header, std::span<const std::byte> payload);

    // rendezvous_read.cpp
    void begin_fetch(std::uint32_t index, const Header& header, const RendezvousOffer& offer);
    [[nodiscard]] Room post_fetches(std::uint32_t index);
    void end_fetch(std::uint32_t index);

    // shared_memory.cpp
    /// What the peer needs to map the operation's GPU memory; nothing where it cannot.
    [[nodiscard]] std::optional<mem::SharedMemory> share(const OperationState& state) const;
    void fetch_shared(std::uint32_t index, const mem::SharedMemory& source);
    /// Makes `buffer` of the operation known to the device with these rights; what went wrong otherwise.
    ErrorCode make_reachable(OperationState& state, std::uint64_t bytes, Access access,
                             const wire::MemoryRegion*& region);

    // pump.cpp
    std::size_t progress();
    void pump(std::uint32_t rank);
    void activate(std::uint32_t rank);
    void read_events(); ///< into `events`, to be acted on by the next poll_events()
    void poll_events();
    /// Counts steps for which a queue pair takes nothing, and ends the channel when that does not end.
    void note_channel_down(std::uint32_t rank);

    // admission.cpp
    [[nodiscard]] bool backlog_takes(std::uint32_t rank, std::uint64_t bytes) const noexcept;
    void call_room_watches();

    // completion.cpp
    void complete(std::uint32_t index, const Status& status);
    void complete(std::uint32_t index, ErrorCode code);
    /// Gives back what stood in for memory that the device cannot reach, after copying `copy_out` bytes from it.
    ErrorCode unstage(OperationState& state, std::uint64_t copy_out);
    /// Copies between memory of any kind and host memory that the GPU's driver may not know.
    ErrorCode copy_staged(mem::Space& space, std::byte* to, const std::byte* from, std::size_t bytes, bool to_space);

    // failure.cpp
    void fail_channel(std::uint32_t rank, const Status& status, const std::string& sentence);
    /// What failed, and with what context it was posted: one sentence with all that an operator would ask for.
    void fail_channel(std::uint32_t rank, const wire::Completion& completion, const std::string& what);
    /// A completion that says no more than that its queue pair is over.
    void note_flushed(std::uint32_t rank, const wire::Completion& completion) noexcept;

    /// The wire itself writes and reads a peer's memory, and keeps peers to what they were granted.
    [[nodiscard]] bool has_native_rma() const noexcept;

    [[nodiscard]] Header header_for(MessageKind kind, const OperationState& state) const noexcept;

    Engine& engine;
    wire::Device& device;
    mem::Spaces& spaces;
    EngineOptions options;
    std::shared_ptr<RegistrationMap> registrations = std::make_shared<RegistrationMap>();
    mem::StagingPool staging;
    OperationTable operations;
    UnexpectedStore unexpected;
    std::vector<PeerState> peers;
    std::vector<std::uint32_t> active; ///< peers with work that waits for room
    std::vector<std::uint32_t> tasks;
    std::vector<Listener*> listeners; ///< by context; short, or with gaps
    std::vector<RoomWatch> room_watches;
    std::uint64_t last_sequence = 0;
    std::uint32_t queued_one_sided = 0; ///< in all back-logs
    order::HazardTracker hazards;       ///< of all peers: what overlaps here need not be one peer's
    std::vector<SpentBuffer> unposted;  ///< receive buffers that the device had no room for
    std::uint64_t idle_steps = 0;
    std::uint64_t receive_refusals = 0;   ///< receives that a provider refused though it must have had room
    std::vector<wire::AsyncEvent> events; ///< read and not acted on
    std::string last_event = "none";
    std::uint64_t violations = 0;   ///< messages that no verbena of this version sends, on a shared queue pair
    peer::QueuePairManager manager; ///< last: goes first, so that nothing arrives while the rest is taken down
};

} // namespace verbena::msg
