/// @file
/// The receive half of a queue pair: a registered slab of equal buffers, each either posted or with its message's
/// owner. Progress-thread only. Hot path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "wire/device.hpp"

namespace verbena::peer {

/// Names a receive buffer across all queue pairs of a manager.
struct BufferId {
    std::uint32_t queue = 0;
    std::uint32_t buffer = 0;
};

class ReceivePool {
  public:
    /// Registers `count` buffers of `buffer_bytes` (and the GRH that the device puts ahead); none is posted yet.
    ReceivePool(wire::Device& device, wire::QueuePair& queue_pair, std::uint32_t index, std::uint32_t count,
                std::size_t buffer_bytes);

    /// Posts `count` more buffers that were never posted, or those that are left. @throws Error where the provider
    /// refuses.
    void post_fresh(std::uint32_t count);
    /// Gives a buffer back to the device; false where the provider has no room now, or the queue pair is broken.
    [[nodiscard]] bool repost(std::uint32_t buffer) { return post(buffer); }

    [[nodiscard]] std::span<std::byte> message(std::uint32_t buffer, const wire::Completion& completion) noexcept {
        return {memory_.data() + buffer * stride_ + completion.grh_bytes, completion.byte_count - completion.grh_bytes};
    }

  private:
    [[nodiscard]] bool post(std::uint32_t buffer);

    wire::QueuePair& queue_pair_;
    std::uint64_t wr_id_base_;
    std::size_t stride_;
    std::uint32_t fresh_ = 0; ///< buffers from here on were never posted
    std::vector<std::byte> memory_;
    std::unique_ptr<wire::MemoryRegion> memory_region_;
};

} // namespace verbena::peer
