/// @file
/// Makes, connects and polls the queue pairs of one rank and hides how many there are: one a peer on a connected
/// transport, one for all peers on a datagram one. Progress-thread only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "flow/completion_queue_ledger.hpp"
#include "peer/channel.hpp"
#include "wire/device.hpp"

namespace verbena::peer {

struct ManagerOptions {
    std::uint32_t rank = 0;
    std::uint32_t size = 1;
    std::uint32_t receive_window = 64; ///< counted messages a peer may have on the way to us
    std::uint32_t reply_buffers = 0;   ///< posted for each peer beyond the window
    std::uint32_t message_bytes = 0;   ///< largest message, header included
    wire::QueuePairOptions queue_pair; ///< depths are set by the manager where they depend on the window
};

/// What polling brings. Implemented by the message layer.
class Sink {
  public:
    virtual ~Sink() = default;
    /// A slot came back. `status` is not success where the request failed or was flushed.
    virtual void on_retired(const SlotContext& context, const wire::Completion& completion,
                            wire::CompletionStatus status) = 0;
    /// A message arrived; its buffer is the sink's until it calls repost().
    virtual void on_message(BufferId buffer, std::span<std::byte> message) = 0;
    /// A receive failed; its buffer is the sink's. A connected queue pair is over then.
    virtual void on_receive_failed(BufferId buffer, const wire::Completion& completion) = 0;
};

/// One queue pair with both halves. `rank` is meaningful where the queue pair is connected.
struct Queue {
    Queue(wire::Device& device, std::unique_ptr<wire::QueuePair> owned, std::uint32_t index, std::uint32_t for_rank,
          std::uint32_t receive_buffers, const ManagerOptions& options);
    ~Queue();

    std::uint32_t rank;
    std::unique_ptr<wire::QueuePair> queue_pair;
    SendQueue sends;
    ReceivePool receives;
};

class QueuePairManager {
  public:
    /// @throws Error naming the limit that the ranks' queues do not fit.
    QueuePairManager(wire::Device& device, const ManagerOptions& options);
    ~QueuePairManager();

    /// What rank `peer` needs to connect to us: our window and buffer size, then the queue pair's own address.
    [[nodiscard]] wire::Address address_for(std::uint32_t peer) const;
    /// @throws Error
    void connect(std::uint32_t peer, std::span<const std::byte> remote);

    [[nodiscard]] Channel& channel(std::uint32_t rank) noexcept { return channels_[rank]; }
    [[nodiscard]] const Channel& channel(std::uint32_t rank) const noexcept { return channels_[rank]; }
    [[nodiscard]] const wire::QueuePair& queue_pair_of(std::uint32_t rank) const;
    /// The way to this rank, for diagnosis.
    [[nodiscard]] wire::QueuePairInfo describe(std::uint32_t rank) const;
    /// The rank that a connected queue belongs to; none on a shared one.
    [[nodiscard]] bool is_shared() const noexcept { return !device_.capabilities().connected; }
    [[nodiscard]] std::uint32_t rank_of_queue(std::uint32_t queue) const noexcept { return queues_[queue]->rank; }

    /// Fewer receives are posted than messages may be on their way, since the device lets messages wait for them. So a
    /// buffer must go back soon: what one peer's early messages hold, all peers lack.
    [[nodiscard]] bool overcommits_receives() const noexcept {
        return is_shared() && device_.capabilities().waits_for_receive;
    }

    /// Takes the channel out of service: what is outstanding flushes. A shared queue pair serves the others on.
    void stop(std::uint32_t rank);

    /// Gives a buffer back to the device; false where the provider has no room now.
    [[nodiscard]] bool repost(BufferId buffer) { return queues_[buffer.queue]->receives.repost(buffer.buffer); }
    [[nodiscard]] std::uint32_t receive_window() const noexcept { return options_.receive_window; }
    /// The rank whose connected queue pair has this number; the size of the job where none has.
    [[nodiscard]] std::uint32_t rank_of_number(std::uint32_t queue_pair) const noexcept;
    /// The rank whose channel has this handle, on a shared queue pair; the size of the job where none has.
    [[nodiscard]] std::uint32_t rank_of_handle(std::uint64_t handle) const noexcept;

    /// Polls every completion queue once. Returns completions handled. Hot path.
    std::size_t poll(Sink& sink);

  private:
    struct Completions {
        std::unique_ptr<wire::CompletionQueue> queue;
        flow::CompletionQueueLedger ledger;
    };

    Completions& completions_for(std::uint32_t entries, std::uint64_t still_needed);
    void add_queue(std::uint32_t rank, std::uint32_t peers, std::uint64_t still_needed);
    [[nodiscard]] std::uint32_t buffers_for_a_peer() const noexcept;
    [[nodiscard]] std::uint32_t buffers_for(std::uint32_t peers) const noexcept;
    void handle(const wire::Completion& completion, Sink& sink);

    wire::Device& device_;
    ManagerOptions options_;
    std::vector<std::unique_ptr<Completions>> completions_;
    std::vector<std::unique_ptr<Queue>> queues_;
    std::vector<Channel> channels_;
    std::array<wire::Completion, 32>
        batch_; ///< poll()'s own: made once, for clearing it costs as much as an empty poll
};

} // namespace verbena::peer
