/// @file
/// The inside of msg::Engine. One file an event implements it:
///   start.cpp            a send, receive or flush is called
///   send.cpp             messages leave: eager, rendezvous, control
///   arrival.cpp          messages arrive and are matched
///   rendezvous_read.cpp  a large message is fetched
///   pump.cpp             work that waited for room goes on
///   completion.cpp       an operation ends
///   failure.cpp          a channel ends
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "mem/space.hpp"
#include "mem/staging_pool.hpp"
#include "msg/engine.hpp"
#include "msg/header.hpp"
#include "msg/operation_table.hpp"
#include "msg/registrations.hpp"
#include "msg/unexpected.hpp"
#include "peer/queue_pair_manager.hpp"
#include "wire/device.hpp"

namespace verbena::msg {

/// SlotContext::purpose.
enum class Purpose : std::uint32_t { message, read };

/// Why a start must wait. Names what will clear it; the progress that does is under way.
enum class Room : std::uint8_t { yes, send_queue, peer_credit, peer_reply, acknowledgement, channel_down };
[[nodiscard]] const char* name(Room room) noexcept;

/// What the engine knows about one peer beyond its channel. Progress-thread only.
struct PeerState {
    OperationQueue backlog;  ///< sends and flushes that wait for room, in order
    OperationQueue finishes; ///< receives whose `finished` has to go out
    OperationQueue fetches;  ///< receives with READs left to post
    OperationQueue posted;   ///< receives that wait for their message
    UnexpectedQueue unexpected;
    std::uint32_t queued = 0;            ///< operations in `backlog`
    std::uint32_t awaiting_finished = 0; ///< rendezvous sends that the peer has not fetched yet
    Room waiting_for = Room::yes;
    std::uint32_t down_steps = 0; ///< steps for which the queue pair refused everything without saying why
    bool active = false;          ///< in Impl::active
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
    /// True when the receive buffer may go back at once.
    bool arrive_eager(std::uint32_t rank, const Header& header, peer::BufferId buffer, std::span<std::byte> payload);
    void arrive_rendezvous(std::uint32_t rank, const Header& header, const RendezvousBody& body);
    void tell_listener(std::uint32_t rank, const Header& header) const noexcept;
    void arrive_finished(std::uint32_t rank, const Header& header);
    /// Posts a receive buffer again and grants its credit, where it has one; now, or as soon as the device takes it.
    void give_back(const SpentBuffer& spent);
    void retry_give_back();
    /// Gives a receive the early message that matches it, if there is one.
    bool match_unexpected(std::uint32_t index);
    void deliver(std::uint32_t index, const Header& header, std::span<const std::byte> payload);

    // rendezvous_read.cpp
    void begin_fetch(std::uint32_t index, const Header& header, const RendezvousBody& body);
    [[nodiscard]] Room post_fetches(std::uint32_t index);
    void end_fetch(std::uint32_t index);
    /// Makes `buffer` of the operation known to the device with these rights; what went wrong otherwise.
    ErrorCode make_reachable(OperationState& state, std::uint64_t bytes, Access access,
                             const wire::MemoryRegion*& region);

    // pump.cpp
    std::size_t progress();
    void pump(std::uint32_t rank);
    void activate(std::uint32_t rank);
    void poll_events();
    /// Counts steps for which a queue pair takes nothing, and ends the channel when that does not end.
    void note_channel_down(std::uint32_t rank);

    // completion.cpp
    void complete(std::uint32_t index, const Status& status);
    void complete(std::uint32_t index, ErrorCode code);
    /// Gives back what stood in for memory that the device cannot reach, after copying `copy_out` bytes from it.
    ErrorCode unstage(OperationState& state, std::uint64_t copy_out);
    /// Copies between memory of any kind and host memory that the GPU's driver may not know.
    ErrorCode copy_staged(mem::Space& space, std::byte* to, const std::byte* from, std::size_t bytes, bool to_space);

    // failure.cpp
    void fail_channel(std::uint32_t rank, const Status& status, const std::string& sentence);
    void fail_channel(std::uint32_t rank, const wire::Completion& completion, const char* what);

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
    std::vector<Listener*> listeners;  ///< by context; short, or with gaps
    std::vector<SpentBuffer> unposted; ///< receive buffers that the device had no room for
    std::uint64_t idle_steps = 0;
    std::uint64_t violations = 0;   ///< messages that no verbena of this version sends, on a shared queue pair
    peer::QueuePairManager manager; ///< last: goes first, so that nothing arrives while the rest is taken down
};

} // namespace verbena::msg
