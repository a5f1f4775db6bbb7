/// @file
/// The message engine of one rank: tagged messages over channels, operations that complete exactly once.
///
/// It has no thread and reads no clock: progress() is a step. Progress-thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <verbena/admission.hpp>
#include <verbena/endpoint.hpp>
#include <verbena/error.hpp>
#include <verbena/memory.hpp>
#include <verbena/ordering.hpp>
#include <verbena/remote_region.hpp>

#include "wire/types.hpp"

namespace verbena::mem {
class Spaces;
}
namespace verbena::wire {
class Device;
}

namespace verbena::msg {

class OrderTrace;

struct EngineOptions {
    std::uint32_t rank = 0;
    std::uint32_t size = 1;
    std::uint32_t receive_window = 64;          ///< messages a peer may have on the way to us, from 1 up
    std::uint32_t send_depth = 128;             ///< work requests asked for; from 1 up
    std::uint32_t eager_limit = 8192;           ///< bytes
    std::uint32_t inline_limit = 220;           ///< bytes, header included
    std::uint64_t unexpected_limit = 64u << 20; ///< bytes
    std::uint64_t backlog_limit = 256u << 20;   ///< bytes waiting for one peer
    std::uint32_t max_mtu_bytes = 4096;
    std::uint8_t ack_timeout = 14;
    std::uint8_t retry_count = 6;
    std::uint64_t job = 0;         ///< goes into remote regions: one of another job is noticed
    std::vector<bool> shares_gpus; ///< by rank: on this host, and sees every GPU that we see; empty: nobody does
    Ordering ordering = Ordering::hazard;
    std::uint32_t watched_operations = 256; ///< unfinished ones whose memory is watched for hazards
    OrderTrace* order_trace = nullptr;      ///< outlives the engine; null: nothing is recorded
};

/// Separates message spaces: a message matches only receives of its own context. 0 is the user's; groups use others.
using Context = std::uint16_t;

/// Names one operation; a stale one is noticed by its generation.
struct OperationId {
    std::uint32_t index = 0;
    std::uint32_t generation = 0;
};

/// A call on a peer's memory. Borrowed for the call, but for `local` and `before`, which are the operation's until it
/// is complete.
struct OneSidedCall {
    enum class Kind : std::uint8_t { put, get, fetch_add, compare_and_swap, swap };

    Kind kind = Kind::put;
    std::span<std::byte> local{}; ///< put: only read
    const RemoteRegion* region = nullptr;
    std::uint64_t offset = 0;  ///< in the region
    std::uint64_t operand = 0; ///< atomics
    std::uint64_t compare = 0; ///< compare-and-swap
    std::uint64_t* before = nullptr;
    const RemoteRegion* signal = nullptr; ///< put: null without a signal
    std::uint64_t signal_offset = 0;
    std::uint64_t signal_value = 0;
};

class Engine;

/// A composite operation (a collective): advanced by every Engine::progress() until it gives a Status.
class Task {
  public:
    virtual ~Task() = default;
    virtual std::optional<Status> advance(Engine& engine) = 0;
    /// It cannot succeed any more: a rank is gone. It ends with this status as soon as nothing of it is on its way.
    virtual void fail(const Status& status) = 0;
};

/// Told of every message of a context that arrived before its receive, once it has been put by. It may only note that:
/// nothing may be started from here. Called for messages of other ranks alone.
class Listener {
  public:
    virtual ~Listener() = default;
    virtual void early(std::uint32_t rank, Context context, Tag tag) noexcept = 0;
};

class Engine {
  public:
    /// Opens queues on `device`, which outlives the engine, as do `spaces`. @throws Error
    Engine(wire::Device& device, mem::Spaces& spaces, const EngineOptions& options);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    [[nodiscard]] std::uint32_t rank() const noexcept;
    [[nodiscard]] std::uint32_t size() const noexcept;

    /// What rank `peer` must be given to connect() to us.
    [[nodiscard]] wire::Address address_for(std::uint32_t peer) const;
    /// Connects the channel to `peer`; messages may be sent once both ends have done it. @throws Error
    void connect(std::uint32_t peer, std::span<const std::byte> remote);

    /// Starts a message. The buffer must stay until the operation is complete. `rank` may be this rank. An operation
    /// that cannot start (no such memory, channel down) is returned complete with its status; that is would_block where
    /// the back-log has no room for it.
    OperationId send(std::uint32_t rank, Context context, Tag tag, std::span<const std::byte> message);
    OperationId receive(std::uint32_t rank, Context context, Tag tag, std::span<std::byte> buffer);
    /// Puts, gets or does an atomic on the memory of `rank`. What is wrong with the arguments ends it at once. A put is
    /// complete when its bytes may be reused, the others when the value is here.
    OperationId one_sided(std::uint32_t rank, const OneSidedCall& call);
    /// What comes later to `rank` takes effect after what came before.
    void fence(std::uint32_t rank);
    void set_ordering(std::uint32_t rank, Ordering ordering);
    /// Completes when every earlier send to `rank` has been acknowledged by its device, and every earlier put and
    /// atomic is visible in its memory; with the first failure of a put that was complete before it failed.
    OperationId flush(std::uint32_t rank);
    OperationId start(std::unique_ptr<Task> task);

    /// What holds up the peer's back-log, and how full that is.
    [[nodiscard]] WouldBlock would_block(std::uint32_t rank) const noexcept;
    /// A message of so many bytes would be taken.
    [[nodiscard]] bool has_room(std::uint32_t rank, std::uint64_t bytes) const noexcept;
    /// Calls once, from progress(), as soon as that is so, or the channel has ended.
    void on_room(std::uint32_t rank, std::uint64_t bytes, std::function<void()> callback);
    /// Not ok once the channel has ended, or before it is connected: with the cause.
    [[nodiscard]] Status channel_status(std::uint32_t rank) const noexcept;

    [[nodiscard]] bool is_complete(OperationId id) const noexcept;
    [[nodiscard]] Status status(OperationId id) const noexcept; ///< would_block while not complete
    /// Takes back what nobody has begun: a receive without its message, a send that waits for room; it ends with
    /// cancelled. Anything else goes on.
    void cancel(OperationId id);
    /// The caller is done with the operation; it goes on if it is not complete.
    void release(OperationId id) noexcept;

    /// `listener`, which outlives its last call here, hears of early messages of `context`; none: nobody does.
    void listen(Context context, Listener* listener);
    /// The tag of the first early message of `context` from `rank` that waits for its receive; nothing where none does.
    [[nodiscard]] std::optional<Tag> early_tag(std::uint32_t rank, Context context) const noexcept;

    /// One step. Returns events handled; 0 means idle.
    std::size_t progress();

    /// Ends the channel: every operation on it ends with this status, its first root cause is kept.
    void fail_peer(std::uint32_t rank, const Status& status, const std::string& sentence);

    /// Ends every composite operation, since each needs all ranks and `status.source` is gone.
    void fail_tasks(const Status& status);

    /// Registers memory for messages; unregistered memory works too, at the price of a registration an operation.
    class Registration;
    std::unique_ptr<Registration> register_memory(std::span<std::byte> memory, Access access);

    /// True when nothing waits for room, for a peer's answer or for a READ. flush() tells about acknowledgements.
    [[nodiscard]] bool is_quiet() const noexcept;

    [[nodiscard]] ChannelInfo describe(std::uint32_t rank) const;
    [[nodiscard]] mem::Spaces& spaces() const noexcept;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace verbena::msg
