/// Progress: polling, timers, turns of the peers. Hot path.
#include <algorithm>

#include <fmt/format.h>

#include "reliable/device.hpp"
#include "reliable/queue_pair.hpp"

namespace verbena::reliable {
namespace {

/// A program that computes for long polls late: then the time is over before anything was tried.
constexpr std::uint32_t fewest_retries = 5;

} // namespace

void QueuePair::make_ready(Peer& peer) {
    if (peer.is_ready || peer.is_lost) return;
    peer.is_ready = true;
    ready_.push_back(index_of(peer));
}

void QueuePair::watch(Peer& peer, Time until) {
    next_deadline_ = std::min(next_deadline_, until);
    if (peer.is_timed) return;
    peer.is_timed = true;
    timed_.push_back(index_of(peer));
}

void QueuePair::progress() {
    if (failed_) return;
    const bool timed = !timed_.empty() || !ready_.empty();
    if (timed) now_ = device_.options().clock();
    bool read_the_clock = timed;
    for (std::size_t count = batch_.size(); count == batch_.size();) {
        count = native_cq_->poll(batch_);
        if (count > 0 && !read_the_clock) {
            now_ = device_.options().clock();
            read_the_clock = true;
        }
        for (const wire::Completion& completion : std::span(batch_).first(count)) {
            if (completion.is_receive) {
                arrive(completion);
            } else {
                retire(completion);
            }
        }
    }
    if (!unposted_.empty()) [[unlikely]] {
        std::vector<std::uint32_t> again = std::exchange(unposted_, {});
        for (const std::uint32_t buffer : again) repost(buffer);
    }
    while (!stalled_.empty() && receives_head_ != receives_tail_) {
        Peer& peer = peers_[stalled_.front()];
        stalled_.erase(stalled_.begin());
        peer.is_stalled = false;
        if (peer.is_lost) continue;
        take_in_waiting(peer);
        peer.must_acknowledge = true;
        make_ready(peer);
    }
    if (now_ >= next_deadline_) run_timers();
    if (!ready_.empty()) pump();
}

void QueuePair::run_timers() {
    next_deadline_ = ~Time{0};
    for (std::size_t i = 0; i < timed_.size();) {
        Peer& peer = peers_[timed_[i]];
        if (!peer.is_lost) {
            if (peer.unacknowledged > 0 && now_ >= peer.acknowledge_by) {
                peer.must_acknowledge = true;
                make_ready(peer);
            }
            if (peer.sends.on_time(now_)) {
                peer.must_ask = !peer.sends.has_lost();
                make_ready(peer);
            }
            const Time silent = peer.sends.is_idle() ? 0 : now_ - peer.sends.heard_at();
            if (silent >= device_.options().give_up_after && peer.sends.unanswered() >= fewest_retries) {
                end_peer(peer, wire::CompletionStatus::retry_exceeded,
                         fmt::format("rank {} answered nothing for {:.1f} s: {} retries, {} packets on their way; "
                                     "from {} to {}",
                                     peer.rank, static_cast<double>(silent) * 1e-9, peer.sends.unanswered(),
                                     peer.sends.in_flight(), native_->describe().local,
                                     native_->describe_peer(peer.native).remote),
                         true);
            }
        }
        const bool acknowledgement_due = peer.unacknowledged > 0 && !peer.must_acknowledge;
        if (peer.is_lost || (peer.sends.is_idle() && !acknowledgement_due)) {
            peer.is_timed = false;
            timed_[i] = timed_.back();
            timed_.pop_back();
            continue;
        }
        if (!peer.sends.is_idle()) {
            const Time end = peer.sends.heard_at() + device_.options().give_up_after;
            next_deadline_ = std::min({next_deadline_, peer.sends.deadline(), end > now_ ? end : ~Time{0}});
        }
        if (acknowledgement_due) next_deadline_ = std::min(next_deadline_, peer.acknowledge_by);
        ++i;
    }
}

void QueuePair::pump() {
    // A peer that has more goes to the end of the line. Where the device or the packets have no room, all wait; one
    // that has its share of the packets does not keep the others waiting.
    std::size_t turns = ready_.size();
    std::size_t next = 0;
    while (next < ready_.size() && ledger_->available() > 0 && turns-- > 0) {
        const std::uint32_t index = ready_[next++];
        Peer& peer = peers_[index];
        peer.is_ready = false;
        if (peer.is_lost) continue;
        const Sent sent = transmit(peer);
        const bool more = peer.sends.has_lost() || (has_more(peer) && peer.sends.has_room());
        if (sent == Sent::no_room || more) {
            peer.is_ready = true;
            ready_.push_back(index);
            if (sent != Sent::no_room) ++turns;
        }
    }
    ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(next));
}

} // namespace verbena::reliable
