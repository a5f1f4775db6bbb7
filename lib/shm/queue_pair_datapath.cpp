/// Posting, sending, receiving. Hot path: no allocation, lock or system call.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "shm/completion_queue.hpp"
#include "shm/inbound.hpp"
#include "shm/queue_pair.hpp"
#include "shm/records.hpp"
#include "wire/request.hpp"

namespace verbena::shm {

using wire::CompletionStatus;
using wire::QueuePairState;
using wire::Refusal;

namespace {

/// Records of one step: enough to spread the cost of a poll, few enough that what waits to go out gets its turn.
constexpr int records_a_step = 32;

bool is_message(wire::Opcode opcode) noexcept {
    return opcode == wire::Opcode::send || opcode == wire::Opcode::send_with_imm;
}

} // namespace

wire::PostResult QueuePair::post_send(std::span<const wire::WorkRequest> requests) {
    wire::PostResult result;
    const std::uint64_t first = posted_;
    // All of the batch first: a request that fails while it executes must flush those behind it, not refuse them.
    for (const wire::WorkRequest& request : requests) {
        result.refusal = check(request);
        if (result.refusal != Refusal::none) break;
        take(request);
        ++result.accepted;
    }
    if (result.refusal == Refusal::queue_full) result.native_errno = ENOMEM;
    advance();
    if (executed_ != posted_) keep_inline_payload(std::max(first, executed_));
    return result;
}

Refusal QueuePair::check(const wire::WorkRequest& request) const noexcept {
    if (state_ != QueuePairState::rts) return Refusal::queue_broken;
    if (posted_ - retired_ == granted_.send_depth) return Refusal::queue_full;
    if (request.sges.size() > granted_.send_sges) return Refusal::too_many_sges;
    const std::uint64_t length = wire::length_of(request.sges);
    if ((request.flags & wire::inlined) != 0 && length > granted_.inline_bytes) return Refusal::inline_too_long;
    const bool reads_inline = request.opcode == wire::Opcode::rdma_read && (request.flags & wire::inlined) != 0;
    return wire::is_atomic(request.opcode) || reads_inline || length > UINT32_MAX ? Refusal::invalid : Refusal::none;
}

/// The list is the caller's for the call only.
void QueuePair::take(const wire::WorkRequest& request) noexcept {
    const std::size_t index = posted_ & (requests_.size() - 1);
    Request& own = requests_[index];
    own.wr_id = request.wr_id;
    own.opcode = request.opcode;
    own.flags = request.flags;
    own.stage = Request::Stage::fresh;
    own.started = false;
    own.immediate = request.immediate;
    own.remote = request.remote;
    wire::Sge* const list = &sges_[index * granted_.send_sges];
    std::ranges::copy(request.sges, list);
    own.cursor = SgeCursor({list, request.sges.size()});
    own.length = static_cast<std::uint32_t>(own.cursor.left());
    ++posted_;
}

/// An inline payload too is the caller's for the call only: those of the requests from `first` on, which wait, are
/// copied. Most often there is none, because the ring took it. None has begun to go out: it fits into one fragment.
void QueuePair::keep_inline_payload(std::uint64_t first) noexcept {
    for (std::uint64_t number = first; number != posted_; ++number) {
        const std::size_t index = number & (requests_.size() - 1);
        Request& request = requests_[index];
        if ((request.flags & wire::inlined) == 0 || request.cursor.left() == 0) continue;
        std::byte* const payload = &inlined_[index * granted_.inline_bytes];
        request.cursor.copy_to({payload, request.length});
        wire::Sge* const list = &sges_[index * granted_.send_sges];
        *list = {payload, request.length, {}};
        request.cursor = SgeCursor({list, 1});
    }
}

void QueuePair::advance() noexcept {
    while (executed_ != posted_ && state_ == QueuePairState::rts) {
        if (peer_is_gone_) [[unlikely]] {
            fail_request(CompletionStatus::retry_exceeded, ESRCH);
            return;
        }
        Request& request = current();
        switch (execute(request)) {
        case Step::done:
            complete_send(request, CompletionStatus::success, 0);
            ++executed_;
            break;
        case Step::waits:
            if (out_->is_violated()) [[unlikely]]
                break_off(EPROTO);
            return;
        case Step::failed:
            return;
        }
    }
}

QueuePair::Step QueuePair::execute(Request& request) noexcept {
    return is_message(request.opcode) ? execute_send(request) : execute_remote(request);
}

QueuePair::Step QueuePair::execute_send(Request& request) noexcept {
    do {
        if (!publish_fragment(request, RecordKind::send)) return Step::waits;
    } while (request.cursor.left() > 0);
    return Step::done;
}

/// The next fragment of the request's payload, which may have no bytes. False when there is no room.
bool QueuePair::publish_fragment(Request& request, RecordKind kind) noexcept {
    const auto length = static_cast<std::uint32_t>(std::min<std::uint64_t>(request.cursor.left(), max_fragment_bytes));
    if (!out_->has_room(length)) return false;
    const Pieces<std::byte> payload = out_->payload(length);
    request.cursor.copy_to(payload.first);
    request.cursor.copy_to(payload.second);
    Record record{static_cast<std::uint8_t>(kind), 0, request.immediate, length};
    if (!request.started) record.flags |= first_fragment;
    if (request.cursor.left() == 0) record.flags |= last_fragment;
    if (request.opcode == wire::Opcode::send_with_imm) record.flags |= has_immediate;
    out_->publish(record);
    request.started = true;
    return true;
}

/// Copies the record's payload to where the cursor is; it fits.
void QueuePair::take_fragment(SgeCursor& cursor, const Record& record) noexcept {
    const Pieces<const std::byte> payload = in_.payload(record);
    cursor.copy_from(payload.first);
    cursor.copy_from(payload.second);
}

bool QueuePair::publish(const Record& record, const void* payload) noexcept {
    if (!out_->has_room(record.length)) return false;
    if (record.length > 0) std::memcpy(out_->payload(record.length).first.data(), payload, record.length);
    out_->publish(record);
    return true;
}

wire::PostResult QueuePair::post_receive(std::span<const wire::ReceiveRequest> requests) {
    wire::PostResult result;
    for (const wire::ReceiveRequest& request : requests) {
        if (state_ == QueuePairState::err) result.refusal = Refusal::queue_broken;
        if (request.sges.size() > granted_.receive_sges) result.refusal = Refusal::too_many_sges;
        if (receives_posted_ - receives_retired_ == granted_.receive_depth) result.refusal = Refusal::queue_full;
        if (result.refusal != Refusal::none) break;
        const std::size_t index = receives_posted_ & (receives_.size() - 1);
        wire::Sge* const list = &receive_sges_[index * granted_.receive_sges];
        std::ranges::copy(request.sges, list);
        receives_[index] = {request.wr_id, SgeCursor({list, request.sges.size()})};
        ++receives_posted_;
        ++result.accepted;
    }
    return result;
}

bool QueuePair::consume() noexcept {
    Record record;
    int count = 0;
    while (count < records_a_step) {
        const Consumer::Front front = in_.peek(record);
        if (front == Consumer::Front::none) break;
        if (front == Consumer::Front::violation) [[unlikely]] {
            break_off(EPROTO);
            break;
        }
        if (!handle(record)) break; // it stays until there is a receive, or the queue pair is at its end
        in_.pop(record);
        ++count;
    }
    in_.publish();
    return count > 0;
}

/// False: not now, or the record broke the queue pair.
bool QueuePair::handle(const Record& record) noexcept {
    switch (static_cast<RecordKind>(record.kind)) {
    case RecordKind::send:
        return handle_send(record);
    case RecordKind::notice:
        return handle_notice(record);
    case RecordKind::read:
    case RecordKind::write:
        return handle_request(record);
    case RecordKind::data:
        return handle_write_data(record);
    case RecordKind::read_data:
        return handle_read_data(record);
    case RecordKind::read_refused:
    case RecordKind::write_done:
    case RecordKind::write_refused:
        return handle_answer(record);
    }
    break_off(EPROTO);
    return false;
}

bool QueuePair::handle_send(const Record& record) noexcept {
    if (!has_receive()) return false;
    if (((record.flags & first_fragment) != 0) == incoming_.has_value()) {
        break_off(EPROTO);
        return false;
    }
    SgeCursor& cursor = next_receive().cursor;
    wire::Completion completion;
    if (record.length > cursor.left()) [[unlikely]] {
        completion.status = CompletionStatus::local_length_error;
        completion.cause = {Origin::system_errno, EMSGSIZE, 0};
        complete_receive(completion);
        set_error();
        return false;
    }
    take_fragment(cursor, record);
    const std::uint64_t length = incoming_.value_or(0) + record.length;
    if ((record.flags & last_fragment) == 0) {
        incoming_ = length;
        return true;
    }
    incoming_.reset();
    completion.kind = wire::CompletionKind::receive;
    completion.byte_count = static_cast<std::uint32_t>(length);
    completion.has_immediate = (record.flags & has_immediate) != 0;
    if (completion.has_immediate) completion.immediate = record.immediate;
    complete_receive(completion);
    return true;
}

bool QueuePair::handle_notice(const Record& record) noexcept {
    if (!has_receive()) return false;
    NoticeBody body{};
    if (record.length != sizeof body || incoming_) {
        break_off(EPROTO);
        return false;
    }
    std::memcpy(&body, in_.payload(record).first.data(), sizeof body);
    wire::Completion completion;
    completion.kind = wire::CompletionKind::receive_rdma_with_imm;
    completion.byte_count = static_cast<std::uint32_t>(body.length);
    completion.has_immediate = true;
    completion.immediate = record.immediate;
    complete_receive(completion);
    return true;
}

} // namespace verbena::shm
