/// What UD does instead of all that RC does: a datagram leaves, its request is complete, and it arrives once, twice or
/// not at all, in any order. Nobody is told.
#include <algorithm>

#include "sim/completion_queue.hpp"
#include "sim/device.hpp"
#include "sim/queue_pair.hpp"
#include "wire/request.hpp"

namespace verbena::sim {
namespace {

constexpr std::byte grh_filler{0xee}; ///< nobody may read anything from it

} // namespace

void QueuePair::launch(std::uint32_t stream, const Request& request) {
    Fabric& fabric = device_.fabric();
    const Faults faults = device_.faults();
    const Stream& target = streams_[request.work.peer.value - 1];
    const Time left = device_.occupy_link(fabric.now(), request.length);
    const int copies = fabric.random().chance(faults.duplicate) ? 2 : 1;
    for (int copy = 0; copy < copies; ++copy) {
        if (fabric.random().chance(faults.drop)) {
            ++fabric.count().drops;
            continue;
        }
        if (copy > 0) ++fabric.count().duplicates;
        if (free_datagrams_.empty()) {
            free_datagrams_.push_back(static_cast<std::uint32_t>(datagrams_.size()));
            datagrams_.emplace_back();
        }
        const std::uint32_t index = free_datagrams_.back();
        free_datagrams_.pop_back();
        Datagram& datagram = datagrams_[index];
        datagram.payload.assign(request.payload.begin(), request.payload.begin() + request.length);
        datagram.device = target.peer_device;
        datagram.queue_pair = target.peer_queue_pair;
        datagram.has_immediate = has_immediate(request.work.opcode);
        datagram.immediate = request.work.immediate;
        Time at = left + fabric.link().latency_ns + fabric.random().up_to(faults.jitter_ns);
        if (fabric.random().chance(faults.reorder)) at += fabric.random().up_to(faults.reorder_ns);
        schedule(at, EventKind::arrival, stream, index);
    }
}

void QueuePair::land(const Event& event) {
    const auto index = static_cast<std::uint32_t>(event.message);
    const Datagram& datagram = datagrams_[index];
    QueuePair* const peer = device_.fabric().reach(device_, datagram.device, datagram.queue_pair);
    if (peer != nullptr && peer->listens_to(*this) && peer->has_receive()) peer->take_datagram(datagram, number_);
    free_datagrams_.push_back(index);
}

void QueuePair::take_datagram(const Datagram& datagram, std::uint32_t from) {
    const std::uint32_t grh_bytes = device_.capabilities().grh_bytes;
    const Receive& receive = next_receive();
    if (grh_bytes + datagram.payload.size() > wire::length_of(receive.list) ||
        !may_use(receive.list, Access::local_write))
        return;
    std::vector<std::byte> whole(grh_bytes, grh_filler);
    whole.insert(whole.end(), datagram.payload.begin(), datagram.payload.end());
    scatter(whole, receive.list);
    wire::Completion completion;
    completion.wr_id = receive.wr_id;
    completion.kind = wire::CompletionKind::receive;
    completion.is_receive = true;
    completion.queue_pair = number_;
    completion.source_queue_pair = from;
    completion.byte_count = static_cast<std::uint32_t>(whole.size());
    completion.grh_bytes = grh_bytes;
    completion.has_immediate = datagram.has_immediate;
    completion.immediate = datagram.immediate;
    ++receives_consumed_;
    if (device_.accounting().retirement == wire::Retirement::at_execution) --receive_slots_used_;
    receive_cq_.push(completion, 0);
}

} // namespace verbena::sim
