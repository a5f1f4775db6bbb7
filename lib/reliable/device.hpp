/// @file
/// wire on top of wire: what takes a device of unreliable datagrams and offers messages of any length, in order, once,
/// with READ and WRITE. One queue pair reaches all peers. The layers above need not know.
///
/// Everything is copied into packets, so local memory need not be registered. READ and WRITE are carried out by the
/// other end's processor when it polls: a program that does not call the library answers nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "reliable/region_table.hpp"
#include "reliable/round_trip.hpp"
#include "wire/device.hpp"

namespace verbena::reliable {

struct Options {
    std::function<Time()> clock;         ///< nanoseconds from anywhere, never backwards
    std::uint64_t seed = 0;              ///< of session numbers and keys: secret where peers are not trusted
    std::uint32_t rank = 0;              ///< this end's; peers tell each other apart by it
    Time give_up_after = 30'000'000'000; ///< a peer that answers nothing for so long is lost
    std::uint32_t packets = 512;         ///< on their way, to all peers
    std::uint32_t receive_packets = 512; ///< posted for all peers
    std::uint32_t send_depth = 256;      ///< asked for on the queue pair beneath
};

/// Progress-thread only.
class Device final : public wire::Device {
  public:
    /// @throws Error (invalid_argument) for a device that is not one of datagrams.
    Device(std::unique_ptr<wire::Device> datagrams, Options options);
    ~Device() override;

    const wire::Capabilities& capabilities() const override { return capabilities_; }
    const wire::Accounting& accounting() const override { return accounting_; }
    std::string describe() const override;
    std::unique_ptr<wire::CompletionQueue> create_completion_queue(std::uint32_t depth) override;
    std::unique_ptr<wire::QueuePair> create_queue_pair(const wire::QueuePairOptions& options) override;
    std::unique_ptr<wire::MemoryRegion> register_memory(std::span<std::byte> memory, Access access) override;
    std::size_t poll_async(std::span<wire::AsyncEvent> out) override;

    [[nodiscard]] wire::Device& datagrams() noexcept { return *datagrams_; }
    [[nodiscard]] const Options& options() const noexcept { return options_; }
    [[nodiscard]] const RegionTable& regions() const noexcept { return regions_; }
    [[nodiscard]] std::uint64_t random() noexcept;
    void raise(wire::AsyncEvent event) { events_.push_back(event); }

  private:
    std::unique_ptr<wire::Device> datagrams_;
    Options options_;
    wire::Capabilities capabilities_;
    wire::Accounting accounting_;
    std::uint64_t random_state_;
    RegionTable regions_;
    std::vector<wire::AsyncEvent> events_;
};

} // namespace verbena::reliable
