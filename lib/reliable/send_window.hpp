/// @file
/// The packets on their way to one peer: which are acknowledged, which are lost, when to send again, when to give up.
/// A state machine without I/O or clock: time is an argument. Progress-thread only. Hot path.
///
/// A packet counts as lost when three that left later have been acknowledged, or when the timer has run out. "Left
/// later" is counted in transmissions, not in sequence numbers, so that a repeated packet is judged like a new one.
/// A packet that was acknowledged selectively is done: the receiver never takes that back.
#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstdint>
#include <memory>
#include <optional>

#include "reliable/lazy_pool.hpp"
#include "reliable/packet.hpp"
#include "reliable/round_trip.hpp"

namespace verbena::reliable {

class SendWindow {
  public:
    static constexpr std::uint32_t most_packets = 64; ///< as many as an acknowledgement has bits
    static constexpr std::uint32_t first_packets = 32;
    static constexpr std::uint32_t fewest_packets = 4;
    static constexpr std::int32_t reordering = 3;

    struct Segment {
        Time sent_at = 0;
        std::uint32_t packet = 0; ///< the owner's own name for it
        std::uint32_t order = 0;  ///< which transmission this was
        std::uint16_t sent = 0;   ///< how often
        bool acknowledged = false;
        bool lost = false;
    };
    struct Ring {
        std::array<Segment, most_packets> segments;
    };
    using Pool = LazyPool<Ring>;

    explicit SendWindow(Sequence first) noexcept : base_(first), next_(first) {}

    [[nodiscard]] std::uint32_t in_flight() const noexcept { return next_ - base_; }
    [[nodiscard]] bool is_idle() const noexcept { return next_ == base_; }
    [[nodiscard]] bool has_room() const noexcept { return in_flight() < limit_; }
    [[nodiscard]] bool has_lost() const noexcept { return lost_ > 0; }
    [[nodiscard]] Sequence next() const noexcept { return next_; }
    [[nodiscard]] const RoundTrip& round_trip() const noexcept { return round_trip_; }
    /// Times that the timer ran out since anything was heard of the peer.
    [[nodiscard]] std::uint32_t unanswered() const noexcept { return unanswered_; }
    /// When the peer was last heard of, or first spoken to after a pause.
    [[nodiscard]] Time heard_at() const noexcept { return heard_at_; }
    /// When to look again; meaningless while idle.
    [[nodiscard]] Time deadline() const noexcept { return timer_at_; }

    /// A new packet leaves. Needs has_room().
    Sequence push(std::uint32_t packet, Time now, Pool& pool) {
        assert(has_room());
        if (is_idle()) {
            ring_ = pool.take();
            heard(now);
            start_timer(now);
        }
        at(next_) = {now, packet, ++order_, 1, false, false};
        return next_++;
    }

    /// The oldest packet to send again.
    [[nodiscard]] std::optional<Sequence> next_lost() const noexcept {
        if (lost_ == 0) return std::nullopt;
        Sequence sequence = base_;
        while (!at(sequence).lost) ++sequence;
        return sequence;
    }
    [[nodiscard]] std::uint32_t packet(Sequence sequence) const noexcept { return at(sequence).packet; }

    /// It leaves again; `really` is false where the last copy has not left yet and serves.
    void resent(Sequence sequence, Time now, bool really) noexcept {
        Segment& segment = at(sequence);
        segment.lost = false;
        --lost_;
        segment.sent_at = now;
        segment.order = ++order_;
        if (really && segment.sent < 0xffff) ++segment.sent;
    }
    /// The device did not take it.
    void not_sent(Sequence sequence) noexcept { mark_lost(at(sequence)); }

    /// Any packet of this peer, whatever it says.
    void heard(Time now) noexcept {
        heard_at_ = now;
        unanswered_ = 0;
    }

    /// Calls `released(packet)` for each packet that is done. False for an acknowledgement of nothing that is on its
    /// way: stale, or not from this peer's mind.
    template <class Released>
    bool acknowledge(Sequence through, std::uint64_t selective, Time now, Pool& pool, Released&& released) {
        if (is_idle() || through - base_ > in_flight()) return false;
        std::optional<Time> sample;
        bool progress = false;
        const auto take = [&](Segment& segment) {
            if (segment.acknowledged) return;
            segment.acknowledged = true;
            if (segment.lost) --lost_;
            segment.lost = false;
            if (ahead(segment.order, newest_acknowledged_) > 0) newest_acknowledged_ = segment.order;
            if (segment.sent == 1) sample = now - segment.sent_at; // of a repeated one it is not known which arrived
            progress = true;
            released(segment.packet);
            if (++acknowledged_since_growth_ >= limit_) {
                acknowledged_since_growth_ = 0;
                if (limit_ < most_packets) ++limit_;
            }
        };
        for (; base_ != through; ++base_) take(at(base_));
        for (std::uint64_t bits = selective; bits != 0; bits &= bits - 1) {
            const Sequence sequence = through + static_cast<std::uint32_t>(std::countr_zero(bits));
            if (sequence - base_ < in_flight()) take(at(sequence));
        }
        if (sample) round_trip_.sample(*sample);
        if (is_idle()) {
            pool.give(std::move(ring_));
            doublings_ = 0;
            return true;
        }
        if (progress) {
            doublings_ = 0;
            start_timer(now);
            find_lost();
        }
        return true;
    }

    /// True when the timer had run out: packets are marked as lost then. None is where all have arrived and wait for
    /// receives at the other end, which has to be asked whether it still lives.
    bool on_time(Time now) noexcept {
        if (is_idle() || now < timer_at_) return false;
        const Time patience = round_trip_.timeout(doublings_);
        bool first = true;
        for (Sequence sequence = base_; sequence != next_; ++sequence) {
            Segment& segment = at(sequence);
            if (segment.acknowledged) continue;
            if (first || segment.sent_at + patience <= now) mark_lost(segment);
            first = false;
        }
        if (!first) limit_ = std::max(fewest_packets, limit_ / 2);
        ++doublings_;
        ++unanswered_;
        start_timer(now);
        return true;
    }

    /// Nothing is sent any more. Calls `released(packet)` for each packet that was on its way.
    template <class Released>
    void abandon(Pool& pool, Released&& released) {
        if (is_idle()) return;
        for (; base_ != next_; ++base_) {
            if (!at(base_).acknowledged) released(at(base_).packet);
        }
        lost_ = 0;
        pool.give(std::move(ring_));
    }

  private:
    [[nodiscard]] Segment& at(Sequence sequence) noexcept { return ring_->segments[sequence % most_packets]; }
    [[nodiscard]] const Segment& at(Sequence sequence) const noexcept {
        return ring_->segments[sequence % most_packets];
    }
    void start_timer(Time now) noexcept { timer_at_ = now + round_trip_.timeout(doublings_); }
    void mark_lost(Segment& segment) noexcept {
        if (segment.lost || segment.acknowledged) return;
        segment.lost = true;
        ++lost_;
    }
    void find_lost() noexcept {
        for (Sequence sequence = base_; sequence != next_; ++sequence) {
            Segment& segment = at(sequence);
            if (ahead(newest_acknowledged_, segment.order) >= reordering) mark_lost(segment);
        }
    }

    std::unique_ptr<Ring> ring_;
    RoundTrip round_trip_;
    Time timer_at_ = 0;
    Time heard_at_ = 0;
    Sequence base_;
    Sequence next_;
    std::uint32_t order_ = 0;
    std::uint32_t newest_acknowledged_ = 0;
    std::uint32_t limit_ = first_packets;
    std::uint32_t acknowledged_since_growth_ = 0;
    std::uint32_t lost_ = 0;
    std::uint32_t doublings_ = 0; ///< of the timer, since something was acknowledged
    std::uint32_t unanswered_ = 0;
};

} // namespace verbena::reliable
