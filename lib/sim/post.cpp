/// What a queue pair takes and what it refuses.
#include <cerrno>
#include <utility>

#include "sim/completion_queue.hpp"
#include "sim/device.hpp"
#include "sim/queue_pair.hpp"
#include "wire/refusal.hpp"

namespace verbena::sim {
namespace {

using wire::Refusal;

} // namespace

wire::PostResult QueuePair::post_send(std::span<const wire::WorkRequest> requests) {
    enter_error_when_a_queue_died();
    wire::PostResult result;
    for (const wire::WorkRequest& request : requests) {
        result.refusal = why_refused(request);
        if (result.refusal != Refusal::none) break;
        admit(request);
        ++result.accepted;
    }
    say_why(result);
    return result;
}

void QueuePair::say_why(wire::PostResult& result) const {
    if (result.refusal != Refusal::queue_full) {
        result.native_errno = wire::errno_of(result.refusal);
        return;
    }
    const std::span<const FullCode> codes = device_.personality().full_codes;
    const FullCode& code = codes[device_.fabric().random().up_to(codes.size() - 1)];
    result.native_errno = wire::post_errno(code.result, code.system_errno);
    result.refusal = wire::refusal_of(result.native_errno);
}

wire::PostResult QueuePair::post_receive(std::span<const wire::ReceiveRequest> requests) {
    enter_error_when_a_queue_died();
    wire::PostResult result;
    for (const wire::ReceiveRequest& request : requests) {
        result.refusal = why_refused(request);
        if (result.refusal != Refusal::none) break;
        admit(request);
        ++result.accepted;
    }
    say_why(result);
    if (waiting_.empty()) return result;
    // Whoever finds no receive after all waits here again.
    for (const Event& arrival : std::exchange(waiting_, {})) device_.fabric().schedule(device_.fabric().now(), arrival);
    return result;
}

Refusal QueuePair::why_refused(const wire::WorkRequest& request) const {
    const wire::Capabilities& can = device_.capabilities();
    if (request.sges.size() > granted_.send_sges) return Refusal::too_many_sges;
    const std::uint64_t length = wire::length_of(request.sges);
    const bool inlined = (request.flags & wire::inlined) != 0;
    if (inlined && length > granted_.inline_bytes) return Refusal::inline_too_long;

    if (!device_.is_alive()) return Refusal::queue_broken;
    if (state_ == wire::QueuePairState::err) {
        if (!device_.personality().takes_posts_in_error) return Refusal::queue_broken;
    } else if (state_ != wire::QueuePairState::rts && state_ != wire::QueuePairState::ready) {
        return Refusal::invalid;
    }
    const bool may_be_unsignaled = device_.accounting().retirement != wire::Retirement::each_completion;
    if (length > can.max_message_bytes || (inlined && fetches(request.opcode)) ||
        (!may_be_unsignaled && (request.flags & wire::signaled) == 0) ||
        (!is_connected_kind() && (request.peer.value == 0 || request.peer.value > streams_.size()))) {
        return Refusal::invalid;
    }
    if (wire::is_atomic(request.opcode) && (!can.atomics || length != sizeof(std::uint64_t))) return Refusal::invalid;

    Fabric& fabric = device_.fabric();
    if (posted_ - retired_ >= granted_.send_depth) {
        ++fabric.count().queue_full;
        return Refusal::queue_full;
    }
    if (fabric.random().chance(device_.faults().refuse_post)) {
        ++fabric.count().provoked_refusals;
        return Refusal::queue_full;
    }
    return Refusal::none;
}

Refusal QueuePair::why_refused(const wire::ReceiveRequest& request) const {
    if (request.sges.size() > granted_.receive_sges) return Refusal::too_many_sges;
    if (!device_.is_alive()) return Refusal::queue_broken;
    if (state_ == wire::QueuePairState::err && !device_.personality().takes_posts_in_error) {
        return Refusal::queue_broken;
    }
    Fabric& fabric = device_.fabric();
    if (receive_slots_used_ >= granted_.receive_depth) {
        ++fabric.count().receive_queue_full;
        return Refusal::queue_full;
    }
    // Not before it is connected: that is set-up, where a refusal ends in an Error.
    if (state_ == wire::QueuePairState::rts && fabric.random().chance(device_.faults().refuse_post)) {
        ++fabric.count().provoked_receive_refusals;
        return Refusal::queue_full;
    }
    return Refusal::none;
}

void QueuePair::admit(const wire::WorkRequest& posted) {
    ++device_.fabric().count().requests;
    Request& request = *free_.back();
    free_.pop_back();
    request.work = posted;
    request.work.sges = {};
    request.list.assign(posted.sges.begin(), posted.sges.end());
    request.length = static_cast<std::uint32_t>(wire::length_of(posted.sges));
    request.slot = posted_++;
    request.accepted = request.executed = request.sent = request.finished = false;
    request.not_ready_ns = 0;
    if (state_ == wire::QueuePairState::err) {
        complete(request, wire::CompletionStatus::flushed);
        return;
    }
    if ((posted.flags & wire::inlined) != 0) copy_list(request);
    // Datagrams to all peers leave in posting order.
    const bool one_stream = is_connected_kind() || !device_.capabilities().reliable;
    const auto stream = one_stream ? 0 : static_cast<std::uint32_t>(posted.peer.value - 1);
    streams_[stream].push(&request);
    wake(stream);
}

void QueuePair::admit(const wire::ReceiveRequest& posted) {
    ++device_.fabric().count().receives;
    ++receive_slots_used_;
    Receive& receive = receives_[receives_posted_++ % receives_.size()];
    receive.wr_id = posted.wr_id;
    receive.list.assign(posted.sges.begin(), posted.sges.end());
    if (state_ == wire::QueuePairState::err && device_.personality().flushes_receives_in_error) {
        complete_receive(wire::CompletionStatus::flushed, nullptr);
    }
}

} // namespace verbena::sim
