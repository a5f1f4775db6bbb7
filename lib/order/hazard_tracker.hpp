/// @file
/// Which memory unfinished operations touch, and what a new one must therefore do. A value: no clock, no I/O, no
/// allocation after it is made. One caller at a time. Hot path: nothing outstanding costs one comparison.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "order/rules.hpp"

namespace verbena::order {

/// Bytes [begin, begin + length) of somebody's virtual memory.
struct Range {
    std::uint64_t begin = 0;
    std::uint64_t length = 0;

    [[nodiscard]] constexpr bool overlaps(const Range& other) const noexcept {
        return length > 0 && other.length > 0 && begin < other.begin + other.length && other.begin < begin + length;
    }
};

/// The smallest range that holds both.
[[nodiscard]] constexpr Range hull(const Range& a, const Range& b) noexcept {
    if (a.length == 0) return b;
    if (b.length == 0) return a;
    const std::uint64_t begin = std::min(a.begin, b.begin);
    return {begin, std::max(a.begin + a.length, b.begin + b.length) - begin};
}

/// Who moves the bytes.
enum class By : std::uint8_t {
    wire,   ///< the device, at both ends
    copied, ///< the device, but our end's bytes are copied by this rank's engine: before the post (put), after it (get)
    engine, ///< messages: the peer's engine carries it out, in the order of arrival
};

/// What one operation touches. A put has a `signal` besides, where it has one.
struct Touch {
    std::uint32_t peer = 0;
    Kind kind = Kind::write;
    By by = By::wire;
    bool loops = false; ///< its requests are not all posted: a swap by compare-and-swap
    Range remote{};
    Range signal{};
    Range local{}; ///< source of a write or send, destination of a read or atomic

    [[nodiscard]] constexpr bool changes_remote() const noexcept { return kind == Kind::write || kind == Kind::atomic; }
    [[nodiscard]] constexpr bool changes_local() const noexcept { return kind == Kind::read || kind == Kind::atomic; }
};

/// At the peer.
[[nodiscard]] inline Relation at_peer(const Rules& rules, const Touch& earlier, const Touch& later) noexcept {
    if (earlier.loops) return Relation::wait;
    const bool by_engine = later.by == By::engine || later.kind == Kind::send;
    if (earlier.by == By::engine) return by_engine ? Relation::ordered : Relation::wait;
    const Relation needed = relation(rules, earlier.kind, by_engine ? Kind::send : later.kind);
    return needed == Relation::fence && by_engine ? Relation::wait : needed; // a message of ours carries no flag
}

/// In our own memory. The fence flag helps only where one queue pair's device does both.
[[nodiscard]] inline Relation at_home(const Rules& rules, const Touch& earlier, const Touch& later) noexcept {
    const bool one_device =
        earlier.peer == later.peer && earlier.by == By::wire && later.by == By::wire && !earlier.loops;
    if (!one_device || later.kind == Kind::send) return Relation::wait;
    if (earlier.kind == Kind::write) return relation(rules, Kind::write, later.kind); // read before what comes back
    return std::max(relation(rules, earlier.kind, later.kind), relation(rules, Kind::read, Kind::write));
}

/// What `later` must do because of `earlier`. `everything`: as if all memory of a peer were one place (strict).
[[nodiscard]] inline Relation between(const Rules& rules, const Touch& earlier, const Touch& later,
                                      bool everything) noexcept {
    const bool same_peer = earlier.peer == later.peer;
    const bool at_one_place = earlier.remote.overlaps(later.remote) || earlier.signal.overlaps(later.remote) ||
                              earlier.remote.overlaps(later.signal) || earlier.signal.overlaps(later.signal);
    const bool remote =
        same_peer && (everything || ((earlier.changes_remote() || later.changes_remote()) && at_one_place));
    const bool local = (earlier.changes_local() || later.changes_local()) && earlier.local.overlaps(later.local);
    Relation needed = remote ? at_peer(rules, earlier, later) : Relation::ordered;
    if (local) needed = std::max(needed, at_home(rules, earlier, later));
    return needed;
}

/// What operations that wait to be posted to one peer touch in our memory, as two ranges that hold all of it:
/// operations to other peers must not pass them there. Wider than the truth, so now and then one waits for nothing.
class QueuedMemory {
  public:
    void add(const Touch& touch) noexcept {
        ++count_;
        (touch.changes_local() ? changed_ : read_) = hull(touch.changes_local() ? changed_ : read_, touch.local);
    }
    void remove() noexcept {
        if (--count_ == 0) *this = {};
    }
    [[nodiscard]] bool conflicts_with(const Touch& other) const noexcept {
        return changed_.overlaps(other.local) || (other.changes_local() && read_.overlaps(other.local));
    }
    [[nodiscard]] bool is_empty() const noexcept { return count_ == 0; }
    [[nodiscard]] std::uint32_t count() const noexcept { return count_; }

  private:
    std::uint32_t count_ = 0;
    Range changed_{};
    Range read_{};
};

class HazardTracker {
  public:
    /// Names an outstanding operation until remove().
    using Token = std::uint32_t;
    static constexpr Token none = 0xffffffff;

    HazardTracker(const Rules& rules, std::uint32_t capacity) : rules_(rules) {
        entries_.reserve(capacity);
        slots_.resize(capacity);
        for (Token token = 0; token < capacity; ++token) slots_[token] = token + 1;
    }

    /// What `later` must do because of what is outstanding. `everything`: as if all memory were the same (strict).
    [[nodiscard]] Relation check(const Touch& later, bool everything) const noexcept {
        Relation needed = Relation::ordered;
        for (const Entry& entry : entries_) {
            needed = std::max(needed, between(rules_, entry.touch, later, everything));
            if (needed == Relation::wait) break;
        }
        return needed;
    }

    /// No more than that many are watched. One that cannot be must wait, which is always right.
    [[nodiscard]] bool has_room() const noexcept { return entries_.size() < slots_.size(); }
    [[nodiscard]] std::size_t outstanding() const noexcept { return entries_.size(); }

    /// Needs has_room().
    Token add(const Touch& touch) noexcept {
        const Token token = free_;
        free_ = slots_[token];
        slots_[token] = static_cast<Token>(entries_.size());
        entries_.push_back({touch, token});
        return token;
    }

    /// It is complete at both ends.
    void remove(Token token) noexcept {
        const Token at = slots_[token];
        entries_[at] = entries_.back();
        slots_[entries_[at].token] = at;
        entries_.pop_back();
        slots_[token] = free_;
        free_ = token;
    }

  private:
    struct Entry {
        Touch touch;
        Token token;
    };

    Rules rules_;
    std::vector<Entry> entries_;
    std::vector<Token> slots_; ///< of a token in use, its entry; of a free one, the next free token
    Token free_ = 0;
};

} // namespace verbena::order
