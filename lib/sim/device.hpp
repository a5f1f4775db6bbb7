#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/fabric.hpp"
#include "sim/memory.hpp"
#include "wire/device.hpp"

namespace verbena::sim {

/// One simulated NIC. Progress-thread only; the Fabric outlives it.
class Device final : public wire::Device {
  public:
    Device(Fabric& fabric, std::uint32_t number, const DeviceOptions& options);
    ~Device() override;

    const wire::Capabilities& capabilities() const override { return personality_.capabilities; }
    const wire::Accounting& accounting() const override { return personality_.accounting; }
    std::string describe() const override;
    std::unique_ptr<wire::CompletionQueue> create_completion_queue(std::uint32_t depth) override;
    std::unique_ptr<wire::QueuePair> create_queue_pair(const wire::QueuePairOptions& options) override;
    std::unique_ptr<wire::MemoryRegion> register_memory(std::span<std::byte> memory, Access access) override;
    std::size_t poll_async(std::span<wire::AsyncEvent> out) override;

    [[nodiscard]] Fabric& fabric() const noexcept { return fabric_; }
    [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
    [[nodiscard]] const Personality& personality() const noexcept { return personality_; }
    /// The personality's and the fabric's.
    [[nodiscard]] Faults faults() const noexcept { return personality_.faults + fabric_.faults(); }
    [[nodiscard]] const MemoryTable& memory() const noexcept { return memory_; }

    [[nodiscard]] bool is_alive() const noexcept { return alive_; }
    void kill() noexcept { alive_ = false; }
    [[nodiscard]] bool is_link_up() const noexcept { return link_up_; }
    void set_link(bool up);
    void raise(wire::AsyncEvent event) { async_events_.push_back(event); }

    /// Takes the link for a message of `bytes` from `earliest` on; returns when its last bit has left.
    Time occupy_link(Time earliest, std::uint64_t bytes);
    [[nodiscard]] Time link_free_at() const noexcept { return link_free_at_; }

    [[nodiscard]] QueuePair* find_queue_pair(std::uint32_t number) const noexcept;
    void forget(std::uint32_t queue_pair) noexcept { queue_pairs_[queue_pair - first_queue_pair] = nullptr; }

  private:
    Fabric& fabric_;
    std::uint32_t number_;
    Personality personality_;
    std::string name_;
    MemoryTable memory_;
    bool alive_ = true;
    bool link_up_ = true;
    Time link_free_at_ = 0;
    static constexpr std::uint32_t first_queue_pair = 0x11;
    std::vector<QueuePair*> queue_pairs_; ///< by number; borrowed: each takes itself out
    std::vector<wire::AsyncEvent> async_events_;
};

} // namespace verbena::sim
