#pragma once

#include <cstddef>
#include <vector>

#include "ofi/slots.hpp"
#include "wire/types.hpp"

namespace verbena::ofi {

/// Completions that wait to be polled and are no longer in libfabric's queue: a ring. Each stands for a slot that stays
/// taken until its completion is handed out, so there are never more than slots. Progress-thread only.
class ReadyList {
  public:
    /// Makes room for `slots` more. Set-up path.
    void grow(std::size_t slots) { rebuild(ring_.size() + slots, nullptr); }
    /// Drops what belongs to `owner` and gives up the room of its `slots`. Set-up path.
    void shrink(std::size_t slots, const QueuePair& owner) { rebuild(ring_.size() - slots, &owner); }

    void push(Slot& slot, const wire::Completion& completion) noexcept {
        slot.state = Slot::State::reported;
        ring_[(first_ + count_++) % ring_.size()] = {&slot, completion};
    }
    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

    struct Entry {
        Slot* slot = nullptr;
        wire::Completion completion{};
    };
    /// Not when empty().
    Entry pop() noexcept {
        const Entry entry = ring_[first_];
        first_ = (first_ + 1) % ring_.size();
        --count_;
        return entry;
    }

  private:
    void rebuild(std::size_t size, const QueuePair* dropped) {
        std::vector<Entry> ring(size);
        std::size_t kept = 0;
        while (!empty()) {
            const Entry entry = pop();
            if (entry.slot->owner != dropped) ring[kept++] = entry;
        }
        ring_ = std::move(ring);
        first_ = 0;
        count_ = kept;
    }

    std::vector<Entry> ring_;
    std::size_t first_ = 0;
    std::size_t count_ = 0;
};

} // namespace verbena::ofi
