/// @file
/// Registered buffers for packets on their way, shared by all peers. A packet is held until its peer has acknowledged
/// it and the device has no copy of it in its send queue any more. Progress-thread only. Hot path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "flow/slot_shares.hpp"
#include "reliable/packet.hpp"
#include "wire/device.hpp"

namespace verbena::reliable {

inline constexpr std::uint32_t nobody = 0xffffffff;

class PacketPool {
  public:
    /// Kept for acknowledgements: two ends that wait for each other's would wait for ever.
    static constexpr std::uint32_t kept_for_acknowledgements = 8;

    struct Packet {
        std::uint32_t request = nobody; ///< whose piece it is
        std::uint32_t peer = nobody;    ///< who holds it; nobody: an acknowledgement
        std::uint32_t bytes = 0;
        bool in_device = false;
        bool done = false; ///< acknowledged, or never to be
    };

    PacketPool(wire::Device& device, std::uint32_t count, std::uint32_t packet_bytes)
        : shares(count),
          stride_(packet_bytes),
          packets_(count + kept_for_acknowledgements),
          free_(count + kept_for_acknowledgements),
          memory_(packets_.size() * stride_),
          region_(device.register_memory(memory_, Access::none)) {
        std::iota(free_.rbegin(), free_.rend(), 0u);
    }

    [[nodiscard]] Packet& operator[](std::uint32_t packet) noexcept { return packets_[packet]; }
    [[nodiscard]] std::byte* memory(std::uint32_t packet) noexcept { return memory_.data() + packet * stride_; }
    [[nodiscard]] wire::LocalKey lkey() const noexcept { return region_->lkey(); }

    [[nodiscard]] bool is_empty() const noexcept { return free_.empty(); }
    std::uint32_t take() noexcept {
        const std::uint32_t packet = free_.back();
        free_.pop_back();
        packets_[packet] = {};
        return packet;
    }
    void give(std::uint32_t packet) noexcept { free_.push_back(packet); }

    flow::SlotShares shares; ///< of all but those kept

  private:
    std::size_t stride_;
    std::vector<Packet> packets_;
    std::vector<std::uint32_t> free_;
    std::vector<std::byte> memory_;
    std::unique_ptr<wire::MemoryRegion> region_;
};

} // namespace verbena::reliable
