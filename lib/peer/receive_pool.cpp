#include "peer/receive_pool.hpp"

#include <fmt/format.h>

#include <verbena/error.hpp>

#include "peer/send_queue.hpp"

namespace verbena::peer {

ReceivePool::ReceivePool(wire::Device& device, wire::QueuePair& queue_pair, std::uint32_t index, std::uint32_t count,
                         std::size_t buffer_bytes)
    : queue_pair_(queue_pair),
      wr_id_base_(static_cast<std::uint64_t>(index) << SendQueue::slot_bits),
      stride_(device.capabilities().grh_bytes + buffer_bytes),
      memory_(count * stride_),
      memory_region_(device.register_memory(memory_, Access::local_write)) {}

bool ReceivePool::post(std::uint32_t buffer) {
    const wire::Sge sge{memory_.data() + buffer * stride_, static_cast<std::uint32_t>(stride_), memory_region_->lkey()};
    const wire::ReceiveRequest request{wr_id_base_ | buffer, {&sge, 1}};
    return queue_pair_.post_receive({&request, 1}).accepted == 1;
}

void ReceivePool::post_fresh(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count && fresh_ < memory_.size() / stride_; ++i, ++fresh_) {
        if (!post(fresh_)) {
            throw Error(ErrorCode::exhausted,
                        fmt::format("receive buffer {} of {} was refused by {}", fresh_ + 1, memory_.size() / stride_,
                                    queue_pair_.describe().local),
                        "lower the setting receive-window");
        }
    }
}

} // namespace verbena::peer
