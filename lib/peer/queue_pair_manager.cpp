#include "peer/queue_pair_manager.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace verbena::peer {
namespace {

/// Ahead of the wire's own address. Little-endian, as every host that verbena builds for.
struct AddressPrefix {
    std::uint16_t version = 1;
    std::uint16_t reserved = 0;
    std::uint32_t receive_window = 0;
    std::uint32_t message_bytes = 0;
};
static_assert(sizeof(AddressPrefix) == 12);

/// Receive buffers of all peers together where messages may wait for one: enough to keep a wire busy, whatever the
/// number of ranks.
constexpr std::uint32_t most_overcommitted_buffers = 512;

} // namespace

Queue::Queue(wire::Device& device, std::unique_ptr<wire::QueuePair> owned, std::uint32_t index, std::uint32_t for_rank,
             std::uint32_t receive_buffers, const ManagerOptions& options)
    : rank(for_rank),
      queue_pair(std::move(owned)),
      sends(device, *queue_pair, index, options.queue_pair.send_depth, options.message_bytes),
      receives(device, *queue_pair, index, receive_buffers, options.message_bytes) {}

Queue::~Queue() {
    // First of all: a provider may write into the slabs for as long as the queue pair lives.
    queue_pair.reset();
}

QueuePairManager::QueuePairManager(wire::Device& device, const ManagerOptions& options)
    : device_(device), options_(options), channels_(options.size) {
    const std::uint32_t peers = options.size - 1;
    for (std::uint32_t rank = 0; rank < options.size; ++rank) channels_[rank].rank = rank;
    if (peers == 0) return;
    if (is_shared()) {
        add_queue(options.rank, peers, 1);
    } else {
        std::uint64_t left = peers;
        for (std::uint32_t rank = 0; rank < options.size; ++rank) {
            if (rank != options.rank) add_queue(rank, 1, left--);
        }
    }
    for (Channel& channel : channels_) {
        if (channel.rank == options.rank || !is_shared()) continue;
        channel.send_queue = &queues_[0]->sends;
        channel.receive_pool = &queues_[0]->receives;
        channel.send_queue->add_peer();
    }
}

QueuePairManager::~QueuePairManager() = default;

QueuePairManager::Completions& QueuePairManager::completions_for(std::uint32_t entries, std::uint64_t still_needed) {
    for (const auto& candidate : completions_) {
        if (candidate->ledger.reserve(entries)) return *candidate;
    }
    const std::uint32_t limit = device_.capabilities().max_completions;
    if (entries > limit) {
        throw Error(ErrorCode::exhausted,
                    fmt::format("{}: a queue pair needs {} completion queue entries, the device allows {}",
                                device_.describe(), entries, limit),
                    "lower the settings send-depth or receive-window");
    }
    const auto depth = static_cast<std::uint32_t>(std::min<std::uint64_t>(limit, entries * still_needed));
    auto queue = device_.create_completion_queue(depth);
    const std::uint32_t capacity = queue->capacity();
    completions_.push_back(
        std::make_unique<Completions>(Completions{std::move(queue), flow::CompletionQueueLedger(capacity)}));
    if (!completions_.back()->ledger.reserve(entries)) {
        throw Error(ErrorCode::exhausted, fmt::format("{}: asked for {} completion queue entries, got {}",
                                                      device_.describe(), depth, capacity));
    }
    return *completions_.back();
}

std::uint32_t QueuePairManager::buffers_for_a_peer() const noexcept {
    return options_.receive_window + options_.reply_buffers + flow::CreditWindow::spare_buffers;
}

std::uint32_t QueuePairManager::buffers_for(std::uint32_t peers) const noexcept {
    const std::uint32_t all = peers * buffers_for_a_peer();
    return overcommits_receives() ? std::min(all, std::max(most_overcommitted_buffers, buffers_for_a_peer())) : all;
}

void QueuePairManager::add_queue(std::uint32_t rank, std::uint32_t peers, std::uint64_t still_needed) {
    wire::QueuePairOptions wanted = options_.queue_pair;
    wanted.receive_depth = buffers_for(peers);
    Completions& completions = completions_for(wanted.send_depth + wanted.receive_depth, still_needed);
    wanted.send_cq = completions.queue.get();
    wanted.receive_cq = completions.queue.get();
    auto queue_pair = device_.create_queue_pair(wanted);
    const std::uint32_t granted = queue_pair->granted().receive_depth;
    if (granted < wanted.receive_depth && !overcommits_receives()) {
        // A smaller window is slower and works. It is told to the peers, so nobody counts on more.
        const std::uint32_t beyond_window = buffers_for_a_peer() - options_.receive_window;
        if (granted / peers <= beyond_window) {
            throw Error(ErrorCode::exhausted,
                        fmt::format("{}: {} peers need {} receive buffers at least, the provider grants {}",
                                    device_.describe(), peers, peers * (beyond_window + 1), granted),
                        "use another transport (settings wire and device) for so many ranks");
        }
        options_.receive_window = granted / peers - beyond_window;
    }
    const std::uint32_t receive_depth = std::min(granted, buffers_for(peers));
    const auto index = static_cast<std::uint32_t>(queues_.size());
    queues_.push_back(std::make_unique<Queue>(device_, std::move(queue_pair), index, rank, receive_depth, options_));
    channels_[rank].send_queue = &queues_.back()->sends;
    channels_[rank].receive_pool = &queues_.back()->receives;
    if (!is_shared()) queues_.back()->sends.add_peer();
}

const wire::QueuePair& QueuePairManager::queue_pair_of(std::uint32_t rank) const {
    return channels_[rank].send_queue->queue_pair();
}

wire::QueuePairInfo QueuePairManager::describe(std::uint32_t rank) const {
    const Channel& channel = channels_[rank];
    const wire::QueuePair& queue_pair = queue_pair_of(rank);
    return is_shared() ? queue_pair.describe_peer(channel.handle) : queue_pair.describe();
}

wire::Address QueuePairManager::address_for(std::uint32_t peer) const {
    AddressPrefix prefix;
    prefix.receive_window = options_.receive_window;
    prefix.message_bytes = options_.message_bytes;
    const wire::Address own = queue_pair_of(peer).address();
    wire::Address whole(sizeof prefix + own.size());
    std::memcpy(whole.data(), &prefix, sizeof prefix);
    std::copy(own.begin(), own.end(), whole.begin() + sizeof prefix);
    return whole;
}

void QueuePairManager::connect(std::uint32_t peer, std::span<const std::byte> remote) {
    AddressPrefix prefix;
    if (remote.size() > sizeof prefix) std::memcpy(&prefix, remote.data(), sizeof prefix);
    if (remote.size() <= sizeof prefix || prefix.version != 1 || prefix.receive_window == 0 ||
        prefix.receive_window > flow::CreditWindow::max_window || prefix.message_bytes == 0) {
        throw Error(ErrorCode::protocol_violation,
                    fmt::format("rank {} gave an address that makes no sense ({} bytes)", peer, remote.size()));
    }
    Channel& channel = channels_[peer];
    channel.credits = flow::CreditWindow(options_.receive_window, prefix.receive_window);
    channel.message_bytes = std::min(prefix.message_bytes, options_.message_bytes);
    // Buffers first: the peer may send as soon as both ends are connected. Some providers take receives only from the
    // INIT state on, which every queue pair has when it is made.
    channel.receive_pool->post_fresh(buffers_for_a_peer());
    const auto own = remote.subspan(sizeof prefix);
    if (is_shared()) {
        channel.handle = channel.send_queue->queue_pair().resolve(own);
    } else {
        channel.send_queue->queue_pair().connect(own);
    }
    channel.state = Channel::State::connected;
}

void QueuePairManager::stop(std::uint32_t rank) {
    Channel& channel = channels_[rank];
    if (is_shared()) {
        channel.send_queue->queue_pair().abandon(channel.handle);
    } else {
        channel.send_queue->queue_pair().fail();
    }
}

std::uint32_t QueuePairManager::rank_of_number(std::uint32_t queue_pair) const noexcept {
    for (const auto& queue : queues_) {
        if (!is_shared() && queue->queue_pair->number() == queue_pair) return queue->rank;
    }
    return options_.size;
}

std::uint32_t QueuePairManager::rank_of_handle(std::uint64_t handle) const noexcept {
    const auto found = std::find_if(channels_.begin(), channels_.end(), [&](const Channel& channel) {
        return is_shared() && channel.state != Channel::State::unconnected && channel.handle.value == handle;
    });
    return found == channels_.end() ? options_.size : found->rank;
}

std::size_t QueuePairManager::poll(Sink& sink) {
    std::size_t handled = 0;
    for (const auto& completions : completions_) {
        const std::size_t count = completions->queue->poll(batch_);
        const auto polled = std::span(batch_).first(count);
        bool has_flushed_receives = false;
        for (const wire::Completion& completion : polled) {
            if (completion.is_receive && completion.status == wire::CompletionStatus::flushed) {
                has_flushed_receives = true;
            } else {
                handle(completion, sink);
            }
        }
        // Flushed receives last: what put the queue pair into the error state is the better cause, where it is known.
        // Where a peer's bad request did, they are the only sign.
        for (const wire::Completion& completion : polled) {
            if (!has_flushed_receives) break;
            if (completion.is_receive && completion.status == wire::CompletionStatus::flushed) handle(completion, sink);
        }
        handled += count;
    }
    return handled;
}

void QueuePairManager::handle(const wire::Completion& completion, Sink& sink) {
    const auto index = static_cast<std::uint32_t>(completion.wr_id >> SendQueue::slot_bits);
    Queue& queue = *queues_[index];
    if (!completion.is_receive) {
        queue.sends.retire(completion, [&](const SlotContext& context, wire::CompletionStatus status) {
            queue.sends.give_back(channels_[context.rank].outstanding--);
            sink.on_retired(context, completion, status);
        });
        return;
    }
    const BufferId buffer{index, static_cast<std::uint32_t>(completion.wr_id & SendQueue::slot_mask)};
    if (completion.status == wire::CompletionStatus::success) {
        sink.on_message(buffer, queue.receives.message(buffer.buffer, completion));
    } else {
        sink.on_receive_failed(buffer, completion);
    }
}

} // namespace verbena::peer
