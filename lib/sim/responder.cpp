/// What a message does where it arrives.
#include <algorithm>
#include <array>
#include <cstring>

#include "sim/device.hpp"
#include "sim/queue_pair.hpp"
#include "wire/request.hpp"

namespace verbena::sim {
namespace {

using wire::CompletionStatus;
using wire::Opcode;

/// IBTA table 46, in units of 10 us.
constexpr std::array<std::uint32_t, 32> rnr_timer_10us{
    65536, 1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,   192,
    256,   384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};

constexpr Time rnr_pause_ns(std::uint8_t code) { return Time{rnr_timer_10us[code % 32]} * 10000; }

} // namespace

void QueuePair::on_arrival(const Event& event) {
    if (!device_.capabilities().reliable) {
        land(event);
        return;
    }
    Fabric& fabric = device_.fabric();
    Stream& stream = streams_[event.stream];
    Request* const request = stream.find(event.message);
    if (request == nullptr || request->finished) return;
    QueuePair* const peer = fabric.reach(device_, stream.peer_device, stream.peer_queue_pair);
    if (peer == nullptr || !(request->accepted || peer->listens_to(*this))) {
        lose(event.stream, event.message);
        return;
    }
    if (request->accepted) { // a copy: whoever sent it again missed the answer
        if (request->executed) respond(event.stream, event.message, *peer);
        return;
    }
    const bool out_of_order =
        event.message > stream.expected; // an older one was lost, and its repetition brings this too
    const bool starved = consumes_receive(request->work.opcode) && !peer->has_receive();
    bool not_ready = starved;
    if (!out_of_order && starved) ++fabric.count().receiver_not_ready;
    if (!out_of_order && !starved && consumes_receive(request->work.opcode) && is_connected_kind() &&
        fabric.random().chance(peer->device_.faults().rnr)) {
        ++fabric.count().provoked_rnr;
        not_ready = true;
    }
    if (out_of_order || not_ready) {
        if (!is_connected_kind()) {
            peer->waiting_.push_back(event); // a provider keeps it until there is a receive
        } else if (!out_of_order) {
            request->not_ready_ns = rnr_pause_ns(peer->options_.min_rnr_timer);
            respond(event.stream, event.message, *peer);
        }
        return;
    }
    request->accepted = true;
    stream.advance_expected();
    const Personality& kind = peer->device_.personality();
    if (request->work.opcode == Opcode::rdma_write && kind.max_write_delay_ns != 0) {
        const Time delay = fabric.random().up_to(kind.max_write_delay_ns);
        ++stream.late_writes;
        ++fabric.count().late_writes;
        schedule(fabric.now() + delay, EventKind::execution, event.stream, event.message);
        return;
    }
    if (stream.late_writes > 0) place_writes(event.stream, event.message, *peer);
    if (kind.max_read_delay_ns == 0 || !fetches(request->work.opcode)) {
        execute(event.stream, event.message, *peer);
        return;
    }
    // Every other one is not delayed: both orders occur, whatever lies behind the READ.
    const Time delay = fabric.random().chance(0.5) ? fabric.random().up_to(kind.max_read_delay_ns) : 0;
    if (delay > 0) ++fabric.count().overtaken_fetches;
    stream.last_fetch = std::max(stream.last_fetch, fabric.now() + delay);
    schedule(stream.last_fetch, EventKind::execution, event.stream, event.message);
}

void QueuePair::on_execution(std::uint32_t index, std::uint64_t message) {
    Stream& stream = streams_[index];
    Request* const request = stream.find(message);
    if (request == nullptr || request->finished || request->executed) return;
    if (request->work.opcode == Opcode::rdma_write) --stream.late_writes;
    if (QueuePair* const peer = device_.fabric().reach(device_, stream.peer_device, stream.peer_queue_pair)) {
        execute(index, message, *peer);
        return;
    }
    request->accepted = false;
    lose(index, message);
}

void QueuePair::place_writes(std::uint32_t index, std::uint64_t message, QueuePair& peer) {
    for (std::uint64_t earlier = streams_[index].base(); earlier < message; ++earlier) {
        const Request* const request = streams_[index].find(earlier);
        const bool waits = request != nullptr && request->accepted && !request->executed && !request->finished &&
                           request->work.opcode == Opcode::rdma_write;
        if (!waits) continue;
        --streams_[index].late_writes;
        execute(index, earlier, peer);
    }
}

void QueuePair::execute(std::uint32_t index, std::uint64_t message, QueuePair& peer) {
    Request& request = *streams_[index].find(message);
    request.outcome = peer.perform(request);
    request.executed = true;
    respond(index, message, peer);
}

void QueuePair::respond(std::uint32_t index, std::uint64_t message, QueuePair& peer) {
    const Request* const request = streams_[index].find(message);
    if (request == nullptr) return; // a queue pair connected to itself that refused its own message
    const bool with_data =
        request->executed && request->outcome == CompletionStatus::success && fetches(request->work.opcode);
    const Time now = device_.fabric().now();
    travel(index, message, EventKind::response, with_data ? peer.device_.occupy_link(now, request->length) : now);
}

bool QueuePair::listens_to(const QueuePair& requester) const noexcept {
    if (!is_connected_kind()) return state_ == wire::QueuePairState::ready;
    return state_ == wire::QueuePairState::rts && streams_[0].peer_device == requester.device_.number() &&
           streams_[0].peer_queue_pair == requester.number_;
}

CompletionStatus QueuePair::perform(Request& request) {
    const wire::WorkRequest& work = request.work;
    const MemoryTable& memory = device_.memory();
    switch (work.opcode) {
    case Opcode::send:
    case Opcode::send_with_imm:
        return take_in(request);
    case Opcode::rdma_write:
    case Opcode::rdma_write_with_imm:
        if (request.length != 0) {
            std::byte* const to = memory.translate(work.remote, request.length, Access::remote_write);
            if (to == nullptr) return refuse(CompletionStatus::remote_access_error);
            std::memcpy(to, request.payload.data(), request.length);
        }
        if (work.opcode == Opcode::rdma_write_with_imm) complete_receive(CompletionStatus::success, &request);
        return CompletionStatus::success;
    case Opcode::rdma_read: {
        request.payload.resize(request.length);
        if (request.length == 0) return CompletionStatus::success;
        const std::byte* const from = memory.translate(work.remote, request.length, Access::remote_read);
        if (from == nullptr) return refuse(CompletionStatus::remote_access_error);
        std::memcpy(request.payload.data(), from, request.length);
        if (Fabric& fabric = device_.fabric(); fabric.damages_read()) {
            const Time bit = fabric.random().up_to(static_cast<Time>(8 * request.length - 1));
            request.payload[static_cast<std::size_t>(bit / 8)] ^= std::byte{1} << (bit % 8);
        }
        return CompletionStatus::success;
    }
    case Opcode::atomic_fetch_add:
    case Opcode::atomic_compare_swap: {
        std::byte* const at = memory.translate(work.remote, sizeof(std::uint64_t), Access::remote_atomic);
        if (at == nullptr) return refuse(CompletionStatus::remote_access_error);
        if (reinterpret_cast<std::uintptr_t>(at) % sizeof(std::uint64_t) != 0) {
            return refuse(CompletionStatus::remote_invalid_request);
        }
        std::uint64_t before = 0;
        std::memcpy(&before, at, sizeof before);
        std::uint64_t after = before;
        if (work.opcode == Opcode::atomic_fetch_add) {
            after = before + work.operand;
        } else if (before == work.compare) {
            after = work.operand;
        }
        std::memcpy(at, &after, sizeof after);
        request.payload.resize(sizeof before);
        std::memcpy(request.payload.data(), &before, sizeof before);
        return CompletionStatus::success;
    }
    }
    return refuse(CompletionStatus::remote_invalid_request);
}

CompletionStatus QueuePair::take_in(const Request& request) {
    const FaultCodes& codes = device_.personality().codes;
    const std::span<const wire::Sge> list = next_receive().list;
    if (request.length > wire::length_of(list)) {
        complete_receive(codes.too_long_at_receiver, nullptr);
        return refuse(codes.too_long_at_sender);
    }
    if (!may_use(list, Access::local_write)) {
        complete_receive(codes.bad_local_key, nullptr);
        return refuse(CompletionStatus::remote_operation_error);
    }
    scatter(request.payload, list);
    complete_receive(CompletionStatus::success, &request);
    return CompletionStatus::success;
}

CompletionStatus QueuePair::refuse(CompletionStatus status) {
    if (is_connected_kind()) enter_error();
    return status;
}

} // namespace verbena::sim
