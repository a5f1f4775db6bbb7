#include "peer/send_queue.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace verbena::peer {

SendQueue::SendQueue(wire::Device& device, wire::QueuePair& queue_pair, std::uint32_t index, std::uint32_t depth,
                     std::size_t buffer_bytes)
    : queue_pair_(queue_pair),
      ledger_(std::min(depth, queue_pair.granted().send_depth), device.accounting().retirement),
      shares_(ledger_.capacity()),
      retires_singly_(device.accounting().retirement == wire::Retirement::each_completion),
      wr_id_base_(static_cast<std::uint64_t>(index) << slot_bits),
      buffer_bytes_(buffer_bytes),
      contexts_(ledger_.capacity()),
      slots_memory_(ledger_.capacity() * buffer_bytes),
      memory_region_(device.register_memory(slots_memory_, Access::local_write)) {
    if (!retires_singly_) return;
    free_slots_.resize(ledger_.capacity());
    std::iota(free_slots_.rbegin(), free_slots_.rend(), 0u);
}

SendQueue::Posted SendQueue::post(wire::WorkRequest& request, const SlotContext& context, std::uint32_t outstanding) {
    assert(has_room(outstanding));
    const std::uint32_t slot = next_slot();
    if (ledger_.must_signal_next()) request.flags |= wire::signaled;
    request.wr_id = wr_id_base_ | slot;
    const wire::PostResult result = queue_pair_.post_send({&request, 1});
    if (result.accepted == 0) [[unlikely]] {
        last_errno_ = result.native_errno;
        was_invalid_ = result.refusal != wire::Refusal::queue_full && result.refusal != wire::Refusal::queue_broken;
        if (result.refusal != wire::Refusal::queue_full) return Posted::broken;
        ++divergences_;
        last_divergence_ = {ledger_.next(),     ledger_.in_flight(),       ledger_.capacity(),
                            ledger_.interval(), ledger_.unsignaled_tail(), result.native_errno};
        return Posted::refused;
    }
    contexts_[slot] = context;
    shares_.take(outstanding);
    ledger_.post((request.flags & wire::signaled) != 0);
    if (retires_singly_) free_slots_.pop_back();
    return Posted::yes;
}

} // namespace verbena::peer
