/// @file
/// The send half of a queue pair with its ledger: every posted request has a slot, every slot a context and a staging
/// buffer, and both come back when the ledger says that the slot is free. Progress-thread only. Hot path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "flow/send_queue_ledger.hpp"
#include "flow/slot_shares.hpp"
#include "wire/device.hpp"

namespace verbena::peer {

/// What a slot's owner wants to know again when it is retired.
struct SlotContext {
    std::uint32_t purpose = 0;   ///< the owner's own
    std::uint32_t rank = 0;      ///< peer that the request goes to
    std::uint32_t operation = 0; ///< the owner's own
    std::uint32_t bytes = 0;     ///< that the request moves
    std::byte* buffer = nullptr; ///< the owner's own: the slot's buffer, where a response lands in it
};

/// The ledger at the moment when a provider refused although the ledger had room.
struct Divergence {
    std::uint64_t request = 0; ///< counted from the first of its queue
    std::uint32_t in_flight = 0;
    std::uint32_t capacity = 0;
    std::uint32_t interval = 0;        ///< every so many requests one is signaled
    std::uint32_t unsignaled_tail = 0; ///< posted since the last signaled one
    int native_errno = 0;              ///< positive
};

class SendQueue {
  public:
    enum class Posted : std::uint8_t {
        yes,
        refused, ///< the provider saw no room where the ledger did: a divergence, counted; ask again after a poll
        broken,  ///< the queue pair is in error
    };

    /// @param depth   most requests in flight; the granted depth where that is less
    /// @param buffer_bytes  size of each slot's staging buffer
    SendQueue(wire::Device& device, wire::QueuePair& queue_pair, std::uint32_t index, std::uint32_t depth,
              std::size_t buffer_bytes);

    /// Before the first post: one more peer shares this queue.
    void add_peer() noexcept { shares_.add_peer(); }
    /// A peer that has `outstanding` requests in the queue may add one.
    [[nodiscard]] bool has_room(std::uint32_t outstanding) const noexcept { return shares_.may_take(outstanding); }
    [[nodiscard]] const flow::SendQueueLedger& ledger() const noexcept { return ledger_; }
    [[nodiscard]] std::uint32_t inline_bytes() const noexcept { return queue_pair_.granted().inline_bytes; }
    [[nodiscard]] std::uint64_t divergences() const noexcept { return divergences_; }
    /// The last one; meaningful where divergences() > 0.
    [[nodiscard]] const Divergence& last_divergence() const noexcept { return last_divergence_; }
    /// errno of the last request that was not taken, and whether it was the request's fault, not the queue's.
    [[nodiscard]] int last_errno() const noexcept { return last_errno_; }
    [[nodiscard]] bool was_invalid() const noexcept { return was_invalid_; }
    [[nodiscard]] wire::QueuePair& queue_pair() const noexcept { return queue_pair_; }

    /// Staging buffer of the slot that the next post takes; its owner's until that slot is retired. Needs has_room().
    [[nodiscard]] std::byte* next_buffer() noexcept { return slots_memory_.data() + next_slot() * buffer_bytes_; }
    [[nodiscard]] wire::LocalKey buffer_key() const noexcept { return memory_region_->lkey(); }

    /// Posts one request of a peer that has `outstanding`; fills in wr_id and the signaled flag where the ledger
    /// demands it. Needs has_room().
    Posted post(wire::WorkRequest& request, const SlotContext& context, std::uint32_t outstanding);
    /// A request of a peer that had `outstanding` was retired: whoever visits the retired says so.
    void give_back(std::uint32_t outstanding) noexcept { shares_.give(outstanding); }

    /// Calls `visit(context, status)` for each slot that this completion proves free. Only the completed request itself
    /// can have failed: a queue executes in order and an earlier failure would have been reported earlier.
    template <class Visit>
    void retire(const wire::Completion& completion, Visit&& visit) {
        const auto slot = static_cast<std::uint32_t>(completion.wr_id & slot_mask);
        if (retires_singly_) {
            ledger_.retire_one();
            free_slots_.push_back(slot);
            visit(contexts_[slot], completion.status);
            return;
        }
        const std::uint32_t oldest = oldest_slot();
        const std::uint32_t distance = slot >= oldest ? slot - oldest : slot + ledger_.capacity() - oldest;
        if (distance >= ledger_.in_flight()) return; // already free: a late flush of an older request
        const std::uint32_t freed = ledger_.retire_through(ledger_.next() - ledger_.in_flight() + distance);
        for (std::uint32_t step = 0; step < freed; ++step) {
            const std::uint32_t freed_slot = (oldest + step) % ledger_.capacity();
            visit(contexts_[freed_slot], step + 1 == freed ? completion.status : wire::CompletionStatus::success);
        }
    }

    /// wr_id: queue index above, slot below; 48 bits in all, the wire leaves 62.
    static constexpr std::uint32_t slot_bits = 24;
    static constexpr std::uint64_t slot_mask = (1u << slot_bits) - 1;

  private:
    [[nodiscard]] std::uint32_t next_slot() const noexcept {
        return retires_singly_ ? free_slots_.back() : static_cast<std::uint32_t>(ledger_.next() % ledger_.capacity());
    }
    [[nodiscard]] std::uint32_t oldest_slot() const noexcept {
        return static_cast<std::uint32_t>((ledger_.next() - ledger_.in_flight()) % ledger_.capacity());
    }

    wire::QueuePair& queue_pair_;
    flow::SendQueueLedger ledger_;
    flow::SlotShares shares_;
    bool retires_singly_;
    std::uint64_t wr_id_base_;
    std::size_t buffer_bytes_;
    std::vector<SlotContext> contexts_;
    std::vector<std::uint32_t> free_slots_; ///< only where requests are retired singly
    std::vector<std::byte> slots_memory_;
    std::unique_ptr<wire::MemoryRegion> memory_region_;
    std::uint64_t divergences_ = 0;
    Divergence last_divergence_;
    int last_errno_ = 0;
    bool was_invalid_ = false;
};

} // namespace verbena::peer
