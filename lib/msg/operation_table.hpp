/// @file
/// The table of started operations. Its memory grows with operations in flight and is never given back, so that the
/// steady state allocates nothing. Progress-thread only. Hot path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/stable_vector.hpp"
#include "msg/engine.hpp"
#include "msg/one_sided.hpp"
#include "wire/memory_region.hpp"

namespace verbena::mem {
class Space;
}

namespace verbena::msg {

inline constexpr std::uint32_t no_operation = 0xffffffff;

/// One started operation. Who holds it: the user, until release(); the engine, while `held`. Free when neither does.
struct OperationState {
    enum class Kind : std::uint8_t { send, receive, flush, task, one_sided };

    Kind kind = Kind::send;
    bool complete = false;
    bool user_owned = false;
    bool held = false;              ///< the engine still needs it: it is in a list, or requests of it are posted
    bool probe_sent = false;        ///< flush: the probe that makes the device report is on its way
    bool awaiting_finished = false; ///< rendezvous send: the peer has been told and has not answered
    Context context = 0;
    std::uint32_t generation = 0;
    std::uint32_t rank = 0;
    std::uint32_t next = no_operation; ///< in the one list that it is in
    Tag tag = 0;
    std::byte* buffer = nullptr; ///< the caller's, or the staging buffer while that stands in for it
    std::uint64_t length = 0;
    Status status{};

    std::uint64_t flush_through = 0; ///< flush: messages posted to the peer when it reached the front; 0 before

    // Rendezvous and one-sided. `temporary` is a registration that lives as long as this operation needs it.
    wire::RemoteAddress remote{};
    wire::LocalKey lkey{};
    std::uint64_t to_fetch = 0;  ///< bytes to fetch in all
    std::uint64_t fetched = 0;   ///< bytes for which a request is posted
    std::uint32_t in_flight = 0; ///< requests posted that read or write `buffer`
    std::uint32_t remote_operation = 0;
    std::unique_ptr<wire::MemoryRegion> temporary;

    // Memory that the device cannot reach: `user_buffer` in `space`, staged through `buffer`.
    std::byte* user_buffer = nullptr;
    mem::Space* space = nullptr;

    OneSidedState one_sided{};

    std::unique_ptr<Task> task;
};

class OperationTable {
  public:
    [[nodiscard]] OperationState& operator[](std::uint32_t index) noexcept { return states_[index]; }
    [[nodiscard]] const OperationState& operator[](std::uint32_t index) const noexcept { return states_[index]; }
    [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(states_.size()); }

    /// A fresh operation, owned by the user.
    std::uint32_t acquire(OperationState::Kind kind, std::uint32_t rank, Context context, Tag tag);
    /// What names an operation to a peer: 24 bits of index, 8 of generation, so that a stale or repeated answer is
    /// noticed.
    [[nodiscard]] std::uint32_t wire_name(std::uint32_t index) const noexcept {
        return index | states_[index].generation << 24;
    }
    /// The operation of that name; no_operation where there is none.
    [[nodiscard]] std::uint32_t named(std::uint32_t wire_name) const noexcept {
        const std::uint32_t index = wire_name & 0xffffff;
        return index < states_.size() && this->wire_name(index) == wire_name ? index : no_operation;
    }

    /// Frees it when nobody holds it any more.
    void release_if_done(std::uint32_t index) noexcept;

    [[nodiscard]] OperationId id_of(std::uint32_t index) const noexcept { return {index, states_[index].generation}; }
    [[nodiscard]] bool is_live(OperationId id) const noexcept {
        return id.index < states_.size() && states_[id.index].generation == id.generation;
    }
    [[nodiscard]] std::uint32_t in_use() const noexcept {
        return static_cast<std::uint32_t>(states_.size() - free_.size());
    }

  private:
    StableVector<OperationState> states_;
    std::vector<std::uint32_t> free_;
};

/// A first-in-first-out list of operations, linked through OperationState::next.
class OperationQueue {
  public:
    [[nodiscard]] bool empty() const noexcept { return head_ == no_operation; }
    [[nodiscard]] std::uint32_t front() const noexcept { return head_; }

    void push(OperationTable& table, std::uint32_t index) noexcept {
        table[index].next = no_operation;
        if (empty()) {
            head_ = index;
        } else {
            table[tail_].next = index;
        }
        tail_ = index;
    }

    std::uint32_t pop(OperationTable& table) noexcept {
        const std::uint32_t index = head_;
        head_ = table[index].next;
        return index;
    }

    /// Takes the front out, whose successor was `next`: the operation itself may be gone by now.
    void drop_front(std::uint32_t next) noexcept { head_ = next; }

    /// Takes out the first operation that `matches`; no_operation where none does.
    template <class Matches>
    std::uint32_t take(OperationTable& table, Matches&& matches) noexcept {
        std::uint32_t previous = no_operation;
        for (std::uint32_t index = head_; index != no_operation; previous = index, index = table[index].next) {
            if (!matches(table[index])) continue;
            (previous == no_operation ? head_ : table[previous].next) = table[index].next;
            if (tail_ == index) tail_ = previous;
            return index;
        }
        return no_operation;
    }

  private:
    std::uint32_t head_ = no_operation;
    std::uint32_t tail_ = no_operation;
};

/// Operations that wait for room, with what they hold: the messages' bytes, and what the table keeps for each.
class Backlog {
  public:
    [[nodiscard]] static constexpr std::uint64_t cost(std::uint64_t message_bytes) noexcept {
        return message_bytes + sizeof(OperationState);
    }

    [[nodiscard]] bool empty() const noexcept { return queue_.empty(); }
    [[nodiscard]] std::uint32_t front() const noexcept { return queue_.front(); }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

    void push(OperationTable& table, std::uint32_t index) noexcept {
        bytes_ += cost(table[index].length);
        queue_.push(table, index);
    }
    /// Takes the front out, a message of so many bytes whose successor was `next`: it may be gone by now.
    void drop_front(std::uint32_t next, std::uint64_t message_bytes) noexcept {
        bytes_ -= cost(message_bytes);
        queue_.drop_front(next);
    }
    template <class Matches>
    std::uint32_t take(OperationTable& table, Matches&& matches) noexcept {
        const std::uint32_t index = queue_.take(table, matches);
        if (index != no_operation) bytes_ -= cost(table[index].length);
        return index;
    }

  private:
    OperationQueue queue_;
    std::uint64_t bytes_ = 0;
};

} // namespace verbena::msg
