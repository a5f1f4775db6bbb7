/// How much may wait, and who is told when there is room again. Off the hot path: nothing here runs for a message that
/// starts at once.
#include <algorithm>

#include "msg/engine_impl.hpp"

namespace verbena::msg {
namespace {

WaitsFor public_name(Room room) noexcept {
    switch (room) {
    case Room::send_queue:
        return WaitsFor::send_queue;
    case Room::peer_credit:
        return WaitsFor::peer_credit;
    case Room::read_depth:
        return WaitsFor::read_depth;
    case Room::peer_reply:
        return WaitsFor::peer_reply;
    case Room::acknowledgement:
        return WaitsFor::acknowledgement;
    default:
        return WaitsFor::backlog;
    }
}

} // namespace

std::string_view name(Room room) noexcept {
    switch (room) {
    case Room::yes:
        return "";
    case Room::order:
        return "earlier operations";
    case Room::channel_down:
        return "channel down";
    default:
        return verbena::name(public_name(room));
    }
}

bool Engine::Impl::backlog_takes(std::uint32_t rank, std::uint64_t bytes) const noexcept {
    const Backlog& backlog = peers[rank].backlog;
    // An empty one takes any message: asking again always gets further, also with one beyond the limit.
    return backlog.empty() || backlog.bytes() + Backlog::cost(bytes) <= options.backlog_limit;
}

void Engine::Impl::call_room_watches() {
    const auto is_due = [this](const RoomWatch& watch) {
        return manager.channel(watch.rank).state != peer::Channel::State::connected ||
               backlog_takes(watch.rank, watch.bytes);
    };
    const auto first_due = std::stable_partition(room_watches.begin(), room_watches.end(), std::not_fn(is_due));
    // Out of the list first: a callback may send, and ask to be called again.
    std::vector<RoomWatch> due(std::make_move_iterator(first_due), std::make_move_iterator(room_watches.end()));
    room_watches.erase(first_due, room_watches.end());
    for (const RoomWatch& watch : due) watch.callback();
}

WouldBlock Engine::would_block(std::uint32_t rank) const noexcept {
    if (rank >= size()) return {};
    const PeerState& peer = impl_->peers[rank];
    const WaitsFor cause = peer.backlog.empty() ? WaitsFor::nothing : public_name(peer.waiting_for);
    return {cause, peer.backlog.bytes(), impl_->options.backlog_limit};
}

bool Engine::has_room(std::uint32_t rank, std::uint64_t bytes) const noexcept {
    return rank >= size() || impl_->backlog_takes(rank, bytes);
}

void Engine::on_room(std::uint32_t rank, std::uint64_t bytes, std::function<void()> callback) {
    if (rank < size()) impl_->room_watches.push_back({rank, bytes, std::move(callback)});
}

Status Engine::channel_status(std::uint32_t rank) const noexcept {
    if (rank == this->rank()) return {};
    const peer::Channel& channel = impl_->manager.channel(rank);
    return channel.state == peer::Channel::State::connected ? Status{} : channel.failure;
}

} // namespace verbena::msg

namespace verbena {

std::string_view name(WaitsFor cause) noexcept {
    switch (cause) {
    case WaitsFor::nothing:
        return "";
    case WaitsFor::send_queue:
        return "send queue";
    case WaitsFor::peer_credit:
        return "peer credit";
    case WaitsFor::read_depth:
        return "read depth";
    case WaitsFor::peer_reply:
        return "replies to large messages";
    case WaitsFor::acknowledgement:
        return "acknowledgement";
    case WaitsFor::backlog:
        return "back-log";
    }
    return "";
}

} // namespace verbena
