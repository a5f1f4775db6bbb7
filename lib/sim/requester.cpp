/// How messages leave a queue pair, come back as answers, and are repeated when they are lost.
#include <algorithm>
#include <cstring>
#include <utility>

#include "sim/device.hpp"
#include "sim/queue_pair.hpp"

namespace verbena::sim {

using wire::CompletionStatus;

namespace {

constexpr std::uint8_t for_ever = 7; ///< rnr_retry, and on rxe retry_count

/// IBTA 9.9: 4.096 us * 2^code.
constexpr Time ack_timeout_ns(std::uint8_t code) { return Time{4096} << code; }

} // namespace

void QueuePair::schedule(Time at, EventKind kind, std::uint32_t stream, std::uint64_t message) {
    Event event;
    event.kind = kind;
    event.device = device_.number();
    event.queue_pair = number_;
    event.stream = stream;
    event.message = message;
    device_.fabric().schedule(at, event);
}

void QueuePair::wake(std::uint32_t index) {
    Stream& stream = streams_[index];
    if (stream.transmit_scheduled || stream.next >= stream.end()) return;
    stream.transmit_scheduled = true;
    schedule(std::max(device_.fabric().now(), device_.link_free_at()), EventKind::transmit, index);
}

void QueuePair::transmit(std::uint32_t index) {
    Stream& stream = streams_[index];
    stream.transmit_scheduled = false;
    if (stream.recovery != Recovery::none || stream.stopped) return;
    while (stream.next < stream.end() && stream.is_finished(stream.next)) ++stream.next;
    Request* const request = stream.find(stream.next);
    if (request == nullptr) return;

    const bool fetching = fetches(request->work.opcode);
    if (!request->sent) { // a repeated message has waited before
        const bool fenced = (request->work.flags & wire::fence) != 0 && stream.fetches_outstanding > 0;
        const bool too_many_fetches = fetching && stream.fetches_outstanding >= granted_.max_read_atomic;
        if (fenced || too_many_fetches) return; // the response of a fetch wakes us
    }
    const Time now = device_.fabric().now();
    if (device_.link_free_at() > now) {
        wake(index);
        return;
    }
    // The payload is read now, not when it was posted: that is why WRITE after an unfenced READ sends old bytes.
    if (!fetching && !request->accepted && !gather(*request)) {
        finish(index, stream.next, device_.personality().codes.bad_local_key);
        return;
    }
    if (!device_.capabilities().reliable) {
        launch(index, *request);
        finish(index, stream.next++, CompletionStatus::success);
        return;
    }
    if (fetching && !request->sent) {
        ++stream.fetches_outstanding;
        std::uint64_t& most = device_.fabric().count().most_fetches_outstanding;
        most = std::max<std::uint64_t>(most, stream.fetches_outstanding);
    }
    request->sent = true;
    request->sent_at = now;
    travel(index, stream.next++, EventKind::arrival, device_.occupy_link(now, fetching ? 0 : request->length));
    wake(index);
}

void QueuePair::travel(std::uint32_t index, std::uint64_t message, EventKind kind, Time left) {
    Fabric& fabric = device_.fabric();
    const Faults faults = device_.faults();
    if (fabric.random().chance(faults.drop)) {
        ++fabric.count().drops;
        lose(index, message);
        return;
    }
    Time at = left + fabric.link().latency_ns + fabric.random().up_to(faults.jitter_ns);
    if (kind == EventKind::arrival) {
        Stream& stream = streams_[index];
        at = stream.last_arrival = std::max(at, stream.last_arrival);
        if (fabric.random().chance(faults.duplicate)) {
            ++fabric.count().duplicates;
            schedule(at + fabric.random().up_to(2 * fabric.link().latency_ns), kind, index, message);
        }
    }
    schedule(at, kind, index, message);
}

void QueuePair::on_response(std::uint32_t index, std::uint64_t message) {
    Stream& stream = streams_[index];
    Request* const request = stream.find(message);
    if (request == nullptr || request->finished) return; // an answer to a copy
    if (const Time pause = std::exchange(request->not_ready_ns, 0); pause != 0) {
        if (stream.rnr_retries_left == 0) {
            finish(index, message, CompletionStatus::rnr_retry_exceeded);
            return;
        }
        if (options_.rnr_retry != for_ever) --stream.rnr_retries_left;
        recover(index, Recovery::not_ready, device_.fabric().now() + pause);
        return;
    }
    if (!request->executed) return; // a second RNR NAK: the first one's pause runs
    stream.retries_left = options_.retry_count;
    stream.rnr_retries_left = options_.rnr_retry;
    CompletionStatus status = request->outcome;
    if (status == CompletionStatus::success && fetches(request->work.opcode) && !scatter_response(*request)) {
        status = device_.personality().codes.bad_local_key;
    }
    finish(index, message, status);
}

void QueuePair::lose(std::uint32_t index, std::uint64_t message) {
    if (options_.timeout == 0) return; // IBTA: wait for ever
    const Time due = streams_[index].find(message)->sent_at + ack_timeout_ns(options_.timeout);
    recover(index, Recovery::timeout, std::max(due, device_.fabric().now()));
}

void QueuePair::recover(std::uint32_t index, Recovery how, Time at) {
    Stream& stream = streams_[index];
    if (stream.recovery != Recovery::none) return; // one repetition serves all that is unanswered
    stream.recovery = how;
    schedule(at, EventKind::retransmit, index);
}

void QueuePair::on_retransmit(std::uint32_t index) {
    Stream& stream = streams_[index];
    const bool timed_out = std::exchange(stream.recovery, Recovery::none) == Recovery::timeout;
    if (timed_out && stream.retries_left == 0) {
        // Connected: the first failure takes the others along. Else each request ends for itself.
        for (std::uint64_t message = stream.oldest_unfinished();
             message < stream.end() && state_ != wire::QueuePairState::err; message = stream.oldest_unfinished()) {
            finish(index, message, CompletionStatus::retry_exceeded);
        }
        return;
    }
    const bool never_gives_up = device_.personality().retry_seven_is_for_ever && options_.retry_count == for_ever;
    if (timed_out && !never_gives_up) --stream.retries_left;
    stream.next = stream.base();
    wake(index);
}

void QueuePair::finish(std::uint32_t index, std::uint64_t message, CompletionStatus status) {
    Stream& stream = streams_[index];
    Request& request = *stream.find(message);
    request.finished = true;
    request.status = status;
    if (request.sent && fetches(request.work.opcode)) --stream.fetches_outstanding;
    stream.advance_expected();
    if (!is_connected_kind()) {
        stream.remove(message);
        complete(request, status);
        wake(index);
        return;
    }
    if (status != CompletionStatus::success) stream.stopped = true;
    // RC completes in posting order: an answer that came early waits for those ahead of it.
    while (stream.base() != stream.end() && stream.find(stream.base())->finished) {
        Request& oldest = *stream.find(stream.base());
        const CompletionStatus ended = oldest.status;
        stream.remove(stream.base());
        complete(oldest, ended);
        if (ended != CompletionStatus::success) {
            enter_error();
            return;
        }
    }
    wake(index);
}

bool QueuePair::gather(Request& request) {
    if ((request.work.flags & wire::inlined) != 0) return true; // copied while posting
    if (!may_use(request.list, Access::none)) return false;
    copy_list(request);
    return true;
}

void QueuePair::copy_list(Request& request) {
    request.payload.resize(request.length);
    std::byte* to = request.payload.data();
    for (const wire::Sge& sge : request.list) {
        if (sge.length != 0) std::memcpy(to, sge.address, sge.length);
        to += sge.length;
    }
}

bool QueuePair::scatter_response(const Request& request) {
    if (!may_use(request.list, Access::local_write)) return false;
    scatter(request.payload, request.list);
    return true;
}

void QueuePair::scatter(std::span<const std::byte> payload, std::span<const wire::Sge> list) {
    for (const wire::Sge& sge : list) {
        const std::size_t part = std::min<std::size_t>(sge.length, payload.size());
        if (part != 0) std::memcpy(sge.address, payload.data(), part);
        payload = payload.subspan(part);
    }
}

} // namespace verbena::sim
