#include "msg/engine.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "msg/engine_impl.hpp"

namespace verbena::msg {
namespace {

peer::ManagerOptions manager_options(const EngineOptions& options) {
    peer::ManagerOptions manager;
    manager.rank = options.rank;
    manager.size = options.size;
    manager.receive_window = options.receive_window;
    manager.reply_buffers = max_rendezvous;
    manager.message_bytes = static_cast<std::uint32_t>(
        header_bytes + std::max<std::size_t>({options.eager_limit, sizeof(RequestBody) + word_bytes, longest_offer}));
    manager.queue_pair.send_depth = options.send_depth;
    manager.queue_pair.inline_bytes = std::min(options.inline_limit, manager.message_bytes);
    manager.queue_pair.max_mtu_bytes = options.max_mtu_bytes;
    manager.queue_pair.timeout = options.ack_timeout;
    manager.queue_pair.retry_count = options.retry_count;
    return manager;
}

} // namespace

Engine::Impl::Impl(Engine& owner, wire::Device& opened, mem::Spaces& known_spaces, const EngineOptions& wanted)
    : engine(owner),
      device(opened),
      spaces(known_spaces),
      options(wanted),
      staging(known_spaces.space(known_spaces.has_plugin() ? MemoryKind::pinned : MemoryKind::host)),
      unexpected(wanted.unexpected_limit),
      peers(wanted.size),
      hazards(order::rules_of(opened.capabilities()), wanted.watched_operations),
      manager(opened, manager_options(wanted)) {
    for (PeerState& peer : peers) peer.ordering = options.ordering;
    registrations->identity.job = options.job;
    registrations->identity.owner = options.rank;
    registrations->identity.native_rma = has_native_rma();
    registrations->identity.native_atomics = has_native_rma() && device.capabilities().atomics;
    if (!device.capabilities().reliable || !device.capabilities().ordered) {
        throw Error(ErrorCode::unavailable,
                    device.describe() + ": messages need a transport that is reliable and keeps their order");
    }
}

Engine::Impl::~Impl() = default;

Engine::Engine(wire::Device& device, mem::Spaces& spaces, const EngineOptions& options)
    : impl_(std::make_unique<Impl>(*this, device, spaces, options)) {}

Engine::~Engine() = default;

std::uint32_t Engine::rank() const noexcept { return impl_->options.rank; }
std::uint32_t Engine::size() const noexcept { return impl_->options.size; }
mem::Spaces& Engine::spaces() const noexcept { return impl_->spaces; }

wire::Address Engine::address_for(std::uint32_t peer) const { return impl_->manager.address_for(peer); }

void Engine::connect(std::uint32_t peer, std::span<const std::byte> remote) { impl_->manager.connect(peer, remote); }

OperationId Engine::send(std::uint32_t rank, Context context, Tag tag, std::span<const std::byte> message) {
    return impl_->send(rank, context, tag, message);
}

OperationId Engine::receive(std::uint32_t rank, Context context, Tag tag, std::span<std::byte> buffer) {
    return impl_->receive(rank, context, tag, buffer);
}

OperationId Engine::flush(std::uint32_t rank) { return impl_->flush(rank); }

OperationId Engine::one_sided(std::uint32_t rank, const OneSidedCall& call) { return impl_->one_sided(rank, call); }

void Engine::fence(std::uint32_t rank) { impl_->fence(rank); }

void Engine::set_ordering(std::uint32_t rank, Ordering ordering) { impl_->set_ordering(rank, ordering); }

OperationId Engine::start(std::unique_ptr<Task> task) {
    const std::uint32_t index = impl_->operations.acquire(OperationState::Kind::task, rank(), 0, 0);
    if (const std::optional<Status> status = task->advance(*this)) {
        impl_->complete(index, *status);
        return impl_->operations.id_of(index);
    }
    OperationState& state = impl_->operations[index];
    state.task = std::move(task);
    state.held = true;
    impl_->tasks.push_back(index);
    return impl_->operations.id_of(index);
}

bool Engine::is_complete(OperationId id) const noexcept {
    return !impl_->operations.is_live(id) || impl_->operations[id.index].complete;
}

Status Engine::status(OperationId id) const noexcept {
    if (!impl_->operations.is_live(id)) {
        Status stale;
        stale.code = ErrorCode::invalid_argument;
        return stale;
    }
    const OperationState& state = impl_->operations[id.index];
    if (state.complete) return state.status;
    Status running;
    running.code = ErrorCode::would_block;
    return running;
}

void Engine::cancel(OperationId id) {
    if (impl_->operations.is_live(id)) impl_->cancel(id.index);
}

void Engine::release(OperationId id) noexcept {
    if (!impl_->operations.is_live(id)) return;
    impl_->operations[id.index].user_owned = false;
    impl_->operations.release_if_done(id.index);
}

void Engine::listen(Context context, Listener* listener) {
    if (impl_->listeners.size() <= context) impl_->listeners.resize(context + std::size_t{1});
    impl_->listeners[context] = listener;
}

std::optional<Tag> Engine::early_tag(std::uint32_t rank, Context context) const noexcept {
    return impl_->unexpected.first_tag(impl_->peers[rank].unexpected, context);
}

std::size_t Engine::progress() { return impl_->progress(); }

void Engine::fail_peer(std::uint32_t rank, const Status& status, const std::string& sentence) {
    impl_->fail_channel(rank, status, sentence);
}

void Engine::fail_tasks(const Status& status) {
    for (const std::uint32_t index : impl_->tasks) impl_->operations[index].task->fail(status);
}

std::unique_ptr<Engine::Registration> Engine::register_memory(std::span<std::byte> memory, Access access) {
    const mem::Classification found = impl_->spaces.classify(memory.data());
    if (!found.problem.empty()) throw Error(ErrorCode::invalid_argument, found.problem);
    std::unique_ptr<wire::MemoryRegion> region;
    if (impl_->spaces.space(found.kind).is_host_accessible()) region = impl_->device.register_memory(memory, access);
    return std::make_unique<Registration>(impl_->registrations, std::move(region), access);
}

bool Engine::is_quiet() const noexcept {
    return std::all_of(impl_->peers.begin(), impl_->peers.end(), [](const PeerState& peer) {
        return peer.backlog.empty() && peer.finishes.empty() && peer.fetches.empty() && peer.awaiting_finished == 0 &&
               peer.answers == 0 && peer.looping == 0 && !peer.has_requests();
    });
}

ChannelInfo Engine::describe(std::uint32_t rank) const {
    ChannelInfo info;
    info.rank = rank;
    if (rank == this->rank() || rank >= size()) return info;
    const peer::Channel& channel = impl_->manager.channel(rank);
    const wire::QueuePairInfo pair = impl_->manager.describe(rank);
    info.state = wire::name(pair.state);
    info.transport = pair.transport;
    info.local_address = pair.local;
    info.remote_address = pair.remote;
    info.local_mtu_bytes = pair.local_mtu_bytes;
    info.remote_mtu_bytes = pair.remote_mtu_bytes;
    info.path_mtu_bytes = pair.path_mtu_bytes;
    info.send_depth = channel.send_queue->ledger().capacity();
    info.inline_bytes = channel.send_queue->inline_bytes();
    info.receive_window = impl_->manager.receive_window();
    info.credits = channel.credits.available();
    info.queued = impl_->peers[rank].queued;
    if (info.queued > 0) info.waiting_for = name(impl_->peers[rank].waiting_for);
    info.messages_sent = channel.messages_sent;
    info.messages_received = channel.messages_received;
    const RemoteRegion::Fields& identity = impl_->registrations->identity;
    info.remote_access = identity.native_rma ? "RDMA" : "the peer's engine";
    info.atomics = identity.native_atomics ? "the device; swap by compare-and-swap" : "the peer's engine";
    info.ordering = impl_->peers[rank].ordering;
    info.fences = impl_->peers[rank].fences;
    info.order_waits = impl_->peers[rank].order_waits;
    info.untracked = impl_->peers[rank].untracked;
    info.divergences = channel.send_queue->divergences();
    if (info.divergences > 0) {
        const peer::Divergence& last = channel.send_queue->last_divergence();
        info.last_divergence = fmt::format(
            "{} at request {}: {} of {} slots taken, every {}th signaled, {} posted since the last signaled one",
            verbena::describe(Cause{Origin::system_errno, last.native_errno, 0}), last.request, last.in_flight,
            last.capacity, last.interval, last.unsignaled_tail);
    }
    info.receive_divergences = impl_->receive_refusals;
    info.queued_bytes = impl_->peers[rank].backlog.bytes();
    info.violations = impl_->violations;
    info.packets_sent = pair.packets_sent;
    info.packets_repeated = pair.packets_repeated;
    info.packets_duplicated = pair.packets_duplicated;
    info.packets_refused = pair.packets_refused;
    info.failure = channel.failure_record;
    info.flushed = channel.flushed;
    if (channel.flushed > 0) info.failure += fmt::format("; {} requests flushed", channel.flushed);
    return info;
}

} // namespace verbena::msg
