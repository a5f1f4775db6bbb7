/// @file
/// The requests a queue pair has outstanding, in fixed tables: no allocation while posting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <rdma/fabric.h>

#include "wire/types.hpp"

namespace verbena::ofi {

class QueuePair;

inline constexpr std::uint32_t no_slot = UINT32_MAX;

/// One outstanding request. `context` comes first: its address is the op_context that libfabric gives back, and
/// providers with FI_CONTEXT or FI_CONTEXT2 write into it until then.
struct Slot {
    fi_context2 context{};
    QueuePair* owner = nullptr;
    wire::WorkRequest request{}; ///< sends only; its `sges` are not kept, `iov_count` entries of the table's arrays are
    std::uint32_t index = 0;
    std::uint32_t iov_count = 0;
    std::uint64_t submitted = 0;  ///< place among those that libfabric took from this queue pair; 0: not taken
    std::uint32_t next = no_slot; ///< in the free list, or among those that wait for the provider
    wire::CompletionKind kind = wire::CompletionKind::send;
    bool is_receive = false;
    /// reported: its completion waits to be polled, the provider is done with it.
    enum class State : std::uint8_t { free, outstanding, reported } state = State::free;
};
static_assert(offsetof(Slot, context) == 0);

/// What a slot's completion says whatever its end.
[[nodiscard]] wire::Completion completion_of(const Slot& slot) noexcept;

/// A table of slots with a free list. Progress-thread only.
class SlotTable {
  public:
    SlotTable(QueuePair& owner, bool is_receive, std::uint32_t depth) : slots_(depth) {
        for (std::uint32_t index = 0; index < depth; ++index) {
            slots_[index].owner = &owner;
            slots_[index].is_receive = is_receive;
            slots_[index].index = index;
            slots_[index].next = index + 1 < depth ? index + 1 : no_slot;
        }
        free_ = depth > 0 ? 0 : no_slot;
    }

    /// Null when all are outstanding.
    Slot* take() noexcept {
        if (free_ == no_slot) return nullptr;
        Slot& slot = slots_[free_];
        free_ = slot.next;
        slot.next = no_slot;
        slot.submitted = 0;
        slot.state = Slot::State::outstanding;
        return &slot;
    }
    void give_back(Slot& slot) noexcept {
        slot.state = Slot::State::free;
        slot.next = free_;
        free_ = slot.index;
    }
    [[nodiscard]] Slot& operator[](std::uint32_t index) noexcept { return slots_[index]; }
    [[nodiscard]] std::vector<Slot>& all() noexcept { return slots_; }

  private:
    std::vector<Slot> slots_; ///< never resized: libfabric holds addresses into it
    std::uint32_t free_;
};

} // namespace verbena::ofi
