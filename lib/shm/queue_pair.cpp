#include "shm/queue_pair.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "shm/address.hpp"
#include "shm/completion_queue.hpp"
#include "shm/device.hpp"
#include "shm/inbound.hpp"
#include "shm/random.hpp"
#include "wire/request.hpp"

namespace verbena::shm {
namespace {

using wire::CompletionStatus;
using wire::QueuePairState;

/// A peer that says nothing is looked at once in so many steps that brought nothing: its word that it closed costs a
/// cache line, whether its process lives some microseconds.
constexpr std::uint32_t steps_between_looks = 1u << 10;
constexpr std::uint32_t steps_between_process_looks = 1u << 16;

CompletionQueue& own(wire::CompletionQueue* queue, const Device& device) {
    auto* const ours = dynamic_cast<CompletionQueue*>(queue);
    if (ours != nullptr) return *ours;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("create queue pair on {}: send and receive completion queues of this device are needed",
                            device.describe()));
}

wire::Granted grant(const wire::QueuePairOptions& options) {
    wire::Granted granted;
    granted.send_depth = std::max(options.send_depth, 1u);
    granted.receive_depth = std::max(options.receive_depth, 1u);
    granted.send_sges = std::max(options.send_sges, 1u);
    granted.receive_sges = std::max(options.receive_sges, 1u);
    granted.inline_bytes = std::min(options.inline_bytes, max_inline_bytes);
    granted.max_read_atomic = granted.send_depth; // they execute one at a time, whatever waits
    return granted;
}

} // namespace

QueuePair::QueuePair(Device& device, std::uint32_t number, const wire::QueuePairOptions& options)
    : device_(device),
      number_(number),
      send_cq_(own(options.send_cq, device)),
      receive_cq_(own(options.receive_cq, device)),
      granted_(grant(options)),
      requests_(std::bit_ceil(granted_.send_depth)),
      sges_(requests_.size() * granted_.send_sges),
      inlined_(requests_.size() * granted_.inline_bytes),
      receives_(std::bit_ceil(granted_.receive_depth)),
      receive_sges_(receives_.size() * granted_.receive_sges),
      inbound_("verbena-queue-pair", inbound_bytes, Segment::Sharing::read_write),
      nonce_(random_number()),
      in_(ring_of(inbound_.data())) {
    header_of(inbound_.data()).nonce = nonce_;
    send_cq_.attach(*this, granted_.send_depth);
    receive_cq_.attach(*this, granted_.receive_depth);
}

QueuePair::~QueuePair() {
    header_of(inbound_.data()).closed.store(1, std::memory_order_release);
    send_cq_.detach(*this, granted_.send_depth);
    receive_cq_.detach(*this, granted_.receive_depth);
}

wire::QueuePairInfo QueuePair::describe() const {
    wire::QueuePairInfo info;
    info.state = state_;
    info.local = fmt::format("{} qp {:#x}", device_.describe(), number_);
    if (peer_.pid != 0) {
        info.remote = fmt::format("process {} qp {:#x}, {}", peer_.pid, peer_queue_pair_, attach_note_);
    }
    return info; // there are no packets, and so no MTU
}

wire::Address QueuePair::address() const {
    EndAddress address;
    address.process = device_.process();
    address.nonce = nonce_;
    address.header = reinterpret_cast<std::uint64_t>(inbound_.data());
    address.segment_fd = inbound_.fd();
    address.regions_fd = device_.regions().fd();
    address.queue_pair = number_;
    return pack_address(address);
}

void QueuePair::connect(std::span<const std::byte> remote) {
    const std::string what = fmt::format("connect {} qp {:#x}", device_.describe(), number_);
    if (state_ != QueuePairState::init) {
        throw Error(ErrorCode::invalid_argument, fmt::format("{}: its state is {}", what, name(state_)));
    }
    const EndAddress address = unpack_address(remote);
    if (!is_alive(address.process)) {
        throw Error(ErrorCode::peer_lost, fmt::format("{}: process {} has ended", what, address.process.pid),
                    "or the peer is in another PID namespace, and wire=ofi is needed");
    }
    Segment outbound(address.process.pid, address.segment_fd, inbound_bytes, Segment::Sharing::read_write);
    Segment regions(address.process.pid, address.regions_fd, region_table_bytes, Segment::Sharing::read_only);
    if (header_of(outbound.data()).nonce != address.nonce) {
        throw Error(ErrorCode::protocol_violation,
                    fmt::format("{}: the segment of process {} is another queue pair's", what, address.process.pid));
    }
    outbound_ = std::move(outbound);
    peer_regions_ = std::move(regions);
    out_.emplace(ring_of(outbound_.data()));
    peer_ = address.process;
    peer_queue_pair_ = address.queue_pair;
    try_attach(address.header);
    state_ = QueuePairState::rts;
}

/// Whether cross-memory attach works is tried, both ways: it hangs on user, capabilities, Yama's ptrace_scope, seccomp
/// filters and namespaces, and each can be otherwise than it looks.
void QueuePair::try_attach(std::uint64_t header) {
    InboundHeader& theirs = header_of(outbound_.data());
    std::uint64_t value = 0;
    const iovec local{&value, sizeof value};
    const char* call = "process_vm_readv";
    int error = read_memory(peer_.pid, {&local, 1}, header + offsetof(InboundHeader, nonce), sizeof value);
    if (error == 0 && value != theirs.nonce) error = EFAULT;
    if (error == 0) {
        call = "process_vm_writev";
        value = random_number();
        error = write_memory(peer_.pid, {&local, 1}, header + offsetof(InboundHeader, scratch), sizeof value);
        if (error == 0 && theirs.scratch != value) error = EFAULT;
    }
    attaches_ = error == 0 && !device_.is_attach_off();
    attach_note_ = attaches_    ? "cross-memory attach"
                   : error == 0 ? "RDMA through the ring"
                                : fmt::format("RDMA through the ring ({}: {})", call, std::strerror(error));
}

wire::PeerHandle QueuePair::resolve(std::span<const std::byte>) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: a connected queue pair resolves no peers", device_.describe()));
}

void QueuePair::progress() noexcept {
    if (state_ != QueuePairState::rts) return;
    const std::uint64_t executed = executed_;
    bool moved = consume();
    if (served_.kind != Served::Kind::none) moved |= serve();
    if (executed_ != posted_) advance();
    if (moved || executed != executed_) {
        idle_steps_ = 0;
    } else if (++idle_steps_ % steps_between_looks == 0) {
        look_at_peer();
    }
}

void QueuePair::look_at_peer() noexcept {
    if (state_ != QueuePairState::rts || peer_is_gone_) return;
    peer_is_gone_ = header_of(outbound_.data()).closed.load(std::memory_order_acquire) != 0 ||
                    (idle_steps_ % steps_between_process_looks == 0 && !is_alive(peer_));
    if (executed_ != posted_) advance();
}

void QueuePair::fail() { set_error(); }

void QueuePair::set_error() noexcept {
    if (state_ == QueuePairState::err) return;
    state_ = QueuePairState::err;
    header_of(inbound_.data()).closed.store(1, std::memory_order_release); // pairs with look_at_peer()
    while (executed_ != posted_) {
        complete_send(current(), CompletionStatus::flushed, ECANCELED);
        ++executed_;
    }
    while (has_receive()) {
        wire::Completion completion;
        completion.status = CompletionStatus::flushed;
        completion.cause = {Origin::system_errno, ECANCELED, 0};
        complete_receive(completion);
    }
}

void QueuePair::fail_request(CompletionStatus status, int error) noexcept {
    complete_send(current(), status, error);
    ++executed_;
    set_error();
}

void QueuePair::break_off(int error) noexcept {
    if (executed_ != posted_) {
        fail_request(CompletionStatus::bad_response, error);
    } else if (has_receive()) {
        wire::Completion completion;
        completion.status = CompletionStatus::bad_response;
        completion.cause = {Origin::system_errno, error, 0};
        complete_receive(completion);
    }
    set_error();
}

void QueuePair::complete_send(const Request& request, CompletionStatus status, int error) noexcept {
    if ((request.flags & wire::signaled) == 0 && status == CompletionStatus::success) return;
    wire::Completion completion;
    completion.wr_id = request.wr_id;
    completion.kind = wire::completion_kind(request.opcode);
    completion.status = status;
    completion.queue_pair = number_;
    if (status != CompletionStatus::success) completion.cause = {Origin::system_errno, error, 0};
    send_cq_.push(*this, completion, executed_);
}

void QueuePair::complete_receive(wire::Completion completion) noexcept {
    completion.wr_id = next_receive().wr_id;
    completion.is_receive = true;
    completion.queue_pair = number_;
    receive_cq_.push(*this, completion, receives_used_++);
}

} // namespace verbena::shm
