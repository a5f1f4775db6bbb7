#include "sim/queue_pair.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/address.hpp"
#include "sim/completion_queue.hpp"
#include "sim/device.hpp"
#include "wire/request.hpp"

namespace verbena::sim {
namespace {

using wire::CompletionKind;
using wire::CompletionStatus;
using wire::QueuePairState;
using wire::Retirement;

/// ibv_wc_status.
std::int32_t native_code(CompletionStatus status) {
    switch (status) {
    case CompletionStatus::success:
        return 0;
    case CompletionStatus::local_length_error:
        return 1;
    case CompletionStatus::local_qp_operation_error:
        return 2;
    case CompletionStatus::local_protection_error:
        return 4;
    case CompletionStatus::flushed:
        return 5;
    case CompletionStatus::bad_response:
        return 7;
    case CompletionStatus::local_access_error:
        return 8;
    case CompletionStatus::remote_invalid_request:
        return 9;
    case CompletionStatus::remote_access_error:
        return 10;
    case CompletionStatus::remote_operation_error:
        return 11;
    case CompletionStatus::retry_exceeded:
        return 12;
    case CompletionStatus::rnr_retry_exceeded:
        return 13;
    case CompletionStatus::fatal:
        return 19;
    case CompletionStatus::general_error:
        return 21;
    }
    return 21;
}

CompletionQueue& own(wire::CompletionQueue* queue, const Device& device) {
    auto* const ours = dynamic_cast<CompletionQueue*>(queue);
    if (ours != nullptr) return *ours;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("create queue pair on {}: send and receive completion queues of this device are needed",
                            device.describe()));
}

constexpr std::size_t kept_payload_bytes = 64 * 1024; ///< a larger buffer goes when its message is done

} // namespace

QueuePair::QueuePair(Device& device, std::uint32_t number, const wire::QueuePairOptions& options)
    : device_(device),
      number_(number),
      options_(options),
      send_cq_(own(options.send_cq, device)),
      receive_cq_(own(options.receive_cq, device)),
      granted_(grant(device.personality(), options)),
      state_(is_connected_kind() ? QueuePairState::init : QueuePairState::ready),
      requests_(granted_.send_depth),
      receives_(granted_.receive_depth) {
    if (!is_connected_kind()) granted_.max_read_atomic = options.max_read_atomic;
    free_.reserve(requests_.size());
    for (Request& request : requests_) free_.push_back(&request);
}

QueuePair::~QueuePair() { device_.forget(number_); }

bool QueuePair::is_connected_kind() const noexcept { return device_.capabilities().connected; }

wire::QueuePairInfo QueuePair::describe() const {
    wire::QueuePairInfo info;
    info.state = state_;
    info.local = fmt::format("{} qp {:#x}", device_.describe(), number_);
    info.remote = remote_;
    info.local_mtu_bytes = std::min(device_.fabric().link().mtu_bytes, options_.max_mtu_bytes);
    info.remote_mtu_bytes = remote_mtu_bytes_;
    info.path_mtu_bytes = remote_mtu_bytes_ == 0 ? 0 : std::min(info.local_mtu_bytes, info.remote_mtu_bytes);
    return info;
}

wire::Address QueuePair::address() const {
    return encode({device_.number(), number_, std::min(device_.fabric().link().mtu_bytes, options_.max_mtu_bytes),
                   options_.max_read_atomic});
}

void QueuePair::connect(std::span<const std::byte> remote) {
    const auto what = fmt::format("connect {} qp {:#x}", device_.describe(), number_);
    if (!is_connected_kind() || state_ != QueuePairState::init) {
        throw Error(ErrorCode::invalid_argument, fmt::format("{}: its state is {}", what, name(state_)));
    }
    (void)resolve(remote);
    const EndAddress address = *decode(remote);
    remote_mtu_bytes_ = address.mtu_bytes;
    granted_.max_read_atomic = std::min<std::uint32_t>(options_.max_read_atomic, address.max_read_atomic);
    remote_ = fmt::format("{} qp {:#x}", device_.fabric().find(address.device)->describe(), address.queue_pair);
    state_ = QueuePairState::rts;
}

wire::PeerHandle QueuePair::resolve(std::span<const std::byte> remote) {
    const auto address = decode(remote);
    if (!address || device_.fabric().find(address->device) == nullptr) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("connect {} qp {:#x}: {} bytes that are not the address of a simulated queue pair",
                                device_.describe(), number_, remote.size()),
                    "pass on what the other end's address() returned");
    }
    Stream& made = streams_.emplace_back(address->device, address->queue_pair);
    made.retries_left = options_.retry_count;
    made.rnr_retries_left = options_.rnr_retry;
    return {streams_.size()};
}

void QueuePair::handle(const Event& event) {
    enter_error_when_a_queue_died();
    if (state_ == QueuePairState::err) return;
    switch (event.kind) {
    case EventKind::transmit:
        transmit(event.stream);
        break;
    case EventKind::arrival:
        on_arrival(event);
        break;
    case EventKind::execution:
        on_execution(event.stream, event.message);
        break;
    case EventKind::response:
        on_response(event.stream, event.message);
        break;
    case EventKind::retransmit:
        on_retransmit(event.stream);
        break;
    case EventKind::visibility: // of no queue pair
        break;
    }
}

void QueuePair::on_polled(std::uint64_t slot) noexcept {
    switch (device_.accounting().retirement) {
    case Retirement::at_execution:
        break;
    case Retirement::through_completion:
        retired_ = std::max(retired_, slot + 1);
        break;
    case Retirement::each_completion:
        ++retired_;
        break;
    }
}

void QueuePair::on_receive_polled() noexcept {
    if (device_.accounting().retirement != Retirement::at_execution) --receive_slots_used_;
}

void QueuePair::enter_error() {
    if (state_ == QueuePairState::err) return;
    state_ = QueuePairState::err;
    std::uint64_t left = requests_.size() - free_.size();
    Fabric& fabric = device_.fabric();
    std::uint64_t withheld = left + 1; // counted from the back; none
    if (device_.personality().withholds_a_flush && left > 0) withheld = 1 + fabric.random().up_to(left - 1);
    for (Stream& stream : streams_) {
        while (stream.base() != stream.end()) {
            const std::uint64_t oldest = stream.base();
            Request& request = *stream.find(oldest);
            stream.remove(oldest);
            if (left-- == withheld) {
                ++fabric.count().withheld_flushes;
                continue;
            }
            complete(request, CompletionStatus::flushed);
        }
    }
    while (has_receive()) complete_receive(CompletionStatus::flushed, nullptr);
}

void QueuePair::enter_error_when_a_queue_died() {
    if (send_cq_.is_dead() || receive_cq_.is_dead()) enter_error();
}

void QueuePair::complete(Request& request, CompletionStatus status) {
    if (device_.accounting().retirement == Retirement::at_execution) ++retired_;
    const bool failed = status != CompletionStatus::success;
    if ((request.work.flags & wire::signaled) != 0 || (failed && device_.accounting().error_completes_unsignaled)) {
        wire::Completion completion;
        completion.wr_id = request.work.wr_id;
        completion.kind = wire::completion_kind(request.work.opcode);
        completion.status = status;
        completion.queue_pair = number_;
        if (failed) completion.cause = {Origin::work_completion, native_code(status), 0};
        send_cq_.push(completion, request.slot);
    }
    if (request.payload.capacity() > kept_payload_bytes) request.payload = {};
    free_.push_back(&request);
}

void QueuePair::complete_receive(CompletionStatus status, const Request* message) {
    wire::Completion completion;
    completion.wr_id = next_receive().wr_id;
    completion.status = status;
    completion.is_receive = true;
    completion.queue_pair = number_;
    if (status != CompletionStatus::success) {
        completion.cause = {Origin::work_completion, native_code(status), 0};
    } else {
        completion.kind = message->work.opcode == wire::Opcode::rdma_write_with_imm
                              ? CompletionKind::receive_rdma_with_imm
                              : CompletionKind::receive;
        completion.byte_count = message->length;
        completion.has_immediate = has_immediate(message->work.opcode);
        if (completion.has_immediate) completion.immediate = message->work.immediate;
    }
    ++receives_consumed_;
    if (device_.accounting().retirement == Retirement::at_execution) --receive_slots_used_;
    receive_cq_.push(completion, 0);
}

bool QueuePair::may_use(std::span<const wire::Sge> list, Access access) const {
    if (!device_.capabilities().needs_local_key) return true;
    return std::ranges::all_of(
        list, [&](const wire::Sge& sge) { return sge.length == 0 || device_.memory().allows_local(sge, access); });
}

} // namespace verbena::sim
