#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/event_queue.hpp"

namespace verbena::sim {

/// Probabilities are between 0 and 1, drawn from the fabric's seed. A fabric has some, and a personality may bring its
/// own on top.
struct Faults {
    double drop = 0;        ///< a message, request or response, is lost: the retry timer of RC repairs it
    Time jitter_ns = 0;     ///< up to this much is added to each message's latency
    double refuse_post = 0; ///< a post is refused as if the queue were full
    double duplicate = 0;   ///< a request, or a datagram, arrives a second time
    double rnr = 0;         ///< RNR NAK though a receive is posted (a page fault of an ODP region, say)
    double reorder = 0;     ///< a datagram is held back, by up to `reorder_ns`, and others overtake it
    Time reorder_ns = 20'000;

    friend Faults operator+(const Faults& a, const Faults& b) noexcept {
        return {
            a.drop + b.drop, a.jitter_ns + b.jitter_ns, a.refuse_post + b.refuse_post,       a.duplicate + b.duplicate,
            a.rnr + b.rnr,   a.reorder + b.reorder,     std::max(a.reorder_ns, b.reorder_ns)};
    }
};

/// What happened on a fabric so far: provoked by its faults, or a fault of whoever uses it.
struct Statistics {
    std::uint64_t requests = 0; ///< send work requests taken
    std::uint64_t receives = 0; ///< receive work requests taken
    std::uint64_t completions = 0;
    std::uint64_t drops = 0;
    std::uint64_t duplicates = 0;
    std::uint64_t provoked_refusals = 0; ///< of sends: posts refused though there was room
    std::uint64_t provoked_receive_refusals = 0;
    std::uint64_t provoked_rnr = 0;             ///< RNR NAKs though a receive was posted
    std::uint64_t overtaken_fetches = 0;        ///< READs and atomics that took effect later than they arrived
    std::uint64_t late_writes = 0;              ///< WRITEs likewise
    std::uint64_t withheld_flushes = 0;         ///< requests that an error left without a completion
    std::uint64_t most_fetches_outstanding = 0; ///< READs and atomics of one queue pair at a time
    // The user's own accounting is wrong where one of these is not zero.
    std::uint64_t queue_full = 0;         ///< posts to a send queue that had no slot: ENOMEM
    std::uint64_t receive_queue_full = 0; ///< likewise for receives
    std::uint64_t completion_queue_overruns = 0;
    std::uint64_t receiver_not_ready = 0; ///< messages that found no receive posted

    Statistics& operator+=(const Statistics& other) noexcept {
        requests += other.requests;
        receives += other.receives;
        completions += other.completions;
        drops += other.drops;
        duplicates += other.duplicates;
        provoked_refusals += other.provoked_refusals;
        provoked_receive_refusals += other.provoked_receive_refusals;
        provoked_rnr += other.provoked_rnr;
        overtaken_fetches += other.overtaken_fetches;
        late_writes += other.late_writes;
        withheld_flushes += other.withheld_flushes;
        most_fetches_outstanding = std::max(most_fetches_outstanding, other.most_fetches_outstanding);
        queue_full += other.queue_full;
        receive_queue_full += other.receive_queue_full;
        completion_queue_overruns += other.completion_queue_overruns;
        receiver_not_ready += other.receiver_not_ready;
        return *this;
    }
};

} // namespace verbena::sim
