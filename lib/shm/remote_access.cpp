/// READ and WRITE at their initiator: by cross-memory attach, one copy that the target takes no part in; where that is
/// not allowed, through the ring, where the target copies when it polls.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "shm/inbound.hpp"
#include "shm/process.hpp"
#include "shm/queue_pair.hpp"
#include "shm/records.hpp"

namespace verbena::shm {

using wire::CompletionStatus;

namespace {

/// Moved by one step: long against a system call (1 MiB takes some 100 us), short enough that other queue pairs get
/// their turn.
constexpr std::uint64_t attach_step_bytes = 1u << 20;
/// Pieces of a local list that one call takes; a longer list takes more calls.
constexpr std::size_t attach_pieces = 16;

Access access_for(wire::Opcode opcode) noexcept {
    return opcode == wire::Opcode::rdma_read ? Access::remote_read : Access::remote_write;
}

CompletionStatus status_of(int error) noexcept {
    switch (error) {
    case ESRCH:
        return CompletionStatus::retry_exceeded;
    case EFAULT: // the target's memory is gone: ours was just there
        return CompletionStatus::remote_access_error;
    default:
        return CompletionStatus::remote_operation_error;
    }
}

} // namespace

QueuePair::Step QueuePair::execute_remote(Request& request) noexcept {
    if (request.length == 0) return end_remote(request); // no memory is touched, so none is asked for (IBTA 9.7.4.1.6)
    return attaches_ ? attach_step(request) : ring_step(request);
}

QueuePair::Step QueuePair::attach_step(Request& request) noexcept {
    const std::span rows(reinterpret_cast<const RegionRow*>(peer_regions_.data()), region_rows);
    // For each step: the peer may deregister in between.
    if (!grants(rows, request.remote, request.length, access_for(request.opcode))) {
        fail_request(CompletionStatus::remote_access_error, EACCES);
        return Step::failed;
    }
    std::uint64_t budget = attach_step_bytes;
    while (request.cursor.left() > 0 && budget > 0) {
        std::array<iovec, attach_pieces> local;
        std::size_t pieces = 0;
        std::size_t length = 0;
        SgeCursor cursor = request.cursor;
        const std::uint64_t done = request.length - cursor.left();
        cursor.walk(std::min(cursor.left(), budget), [&](std::byte* memory, std::size_t count) {
            if (pieces == local.size()) return;
            local[pieces++] = {memory, count};
            length += count;
        });
        const std::span list(local.data(), pieces);
        const std::uint64_t address = request.remote.address + done;
        const int error = request.opcode == wire::Opcode::rdma_read ? read_memory(peer_.pid, list, address, length)
                                                                    : write_memory(peer_.pid, list, address, length);
        if (error != 0) {
            fail_request(status_of(error), error);
            return Step::failed;
        }
        request.cursor.walk(length, [](std::byte*, std::size_t) {});
        budget -= length;
    }
    return request.cursor.left() > 0 ? Step::waits : end_remote(request);
}

/// The bytes are there (or there are none); what remains is to tell, where the request has immediate data.
QueuePair::Step QueuePair::end_remote(Request& request) noexcept {
    if (request.opcode != wire::Opcode::rdma_write_with_imm) return Step::done;
    const NoticeBody body{request.length};
    const Record record{static_cast<std::uint8_t>(RecordKind::notice), first_fragment | last_fragment,
                        request.immediate, sizeof body};
    return publish(record, &body) ? Step::done : Step::waits;
}

QueuePair::Step QueuePair::ring_step(Request& request) noexcept {
    const bool reads = request.opcode == wire::Opcode::rdma_read;
    if (request.stage == Request::Stage::fresh) {
        const RequestBody body{request.remote.address, request.remote.rkey.value, request.length};
        Record record{static_cast<std::uint8_t>(reads ? RecordKind::read : RecordKind::write), 0, request.immediate,
                      sizeof body};
        if (request.opcode == wire::Opcode::rdma_write_with_imm) record.flags = has_immediate;
        if (!publish(record, &body)) return Step::waits;
        request.stage = Request::Stage::announced;
    }
    while (!reads && request.cursor.left() > 0) {
        if (!publish_fragment(request, RecordKind::data)) return Step::waits;
    }
    if (request.stage == Request::Stage::refused) {
        fail_request(CompletionStatus::remote_access_error, EACCES);
        return Step::failed;
    }
    return request.stage == Request::Stage::answered ? Step::done : Step::waits;
}

/// Whether the oldest request is a READ (or a WRITE) of which the peer was told: what comes now can be its answer.
bool QueuePair::awaits_answer(bool of_read) noexcept {
    if (executed_ == posted_) return false;
    const Request& request = current();
    return request.stage == Request::Stage::announced && (request.opcode == wire::Opcode::rdma_read) == of_read;
}

bool QueuePair::handle_read_data(const Record& record) noexcept {
    if (!awaits_answer(true) || record.length == 0 || record.length > current().cursor.left()) {
        break_off(EPROTO);
        return false;
    }
    Request& request = current();
    take_fragment(request.cursor, record);
    if (request.cursor.left() == 0) request.stage = Request::Stage::answered;
    return true;
}

bool QueuePair::handle_answer(const Record& record) noexcept {
    const auto kind = static_cast<RecordKind>(record.kind);
    const bool of_read = kind == RecordKind::read_refused;
    // A WRITE is answered when all its data went out, and not before.
    if (!awaits_answer(of_read) || (!of_read && current().cursor.left() > 0)) {
        break_off(EPROTO);
        return false;
    }
    current().stage = kind == RecordKind::write_done ? Request::Stage::answered : Request::Stage::refused;
    return true;
}

} // namespace verbena::shm
