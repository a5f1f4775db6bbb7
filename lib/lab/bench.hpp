/// @file
/// Where a scenario runs: two devices that reach each other, and time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <verbena/lab.hpp>

#include "lab/recorder.hpp"
#include "mem/space.hpp"
#include "msg/engine.hpp"
#include "sim/fabric.hpp"

namespace verbena::lab {

using OpenDevice = std::function<std::unique_ptr<wire::Device>()>;

class Bench {
  public:
    /// Two simulated NICs whose slots come back as a ConnectX's do.
    explicit Bench(std::uint64_t seed);
    /// Two openings of one real device.
    explicit Bench(const OpenDevice& open);

    [[nodiscard]] Recorder& device(std::size_t end) noexcept { return *devices_[end]; }
    [[nodiscard]] bool is_simulated() const noexcept { return fabric_ != nullptr; }

    /// Lets time pass until `enough()`, which polls whatever it wants to be polled: on the simulated NIC at most until
    /// nothing is on its way any more, on a real one at most for half a second.
    void wait(const std::function<bool()>& enough);

  private:
    std::unique_ptr<sim::Fabric> fabric_; ///< outlives the devices; null on a real device
    std::unique_ptr<Recorder> devices_[2];
};

/// One end of a raw program: a queue pair with a completion queue for each half, and registered memory.
class RawEnd {
  public:
    RawEnd(Recorder& device, const wire::QueuePairOptions& options, std::uint32_t send_entries);
    static void connect(RawEnd& a, RawEnd& b);

    /// Posts one request of 8 bytes at `offset`. The device's rules are obeyed where it has others than verbs.
    wire::PostResult post(wire::Opcode opcode, std::uint8_t flags = 0, std::size_t offset = 0,
                          const RawEnd* remote = nullptr);
    void post_receives(std::uint32_t count);
    /// Polls both completion queues once, into `sent` and `received`.
    void poll();

    [[nodiscard]] Notes& notes() noexcept { return device_.notes(); }
    [[nodiscard]] wire::QueuePair& queue_pair() noexcept { return *queue_pair_; }
    [[nodiscard]] wire::CompletionQueue& send_queue() noexcept { return *send_cq_; }
    [[nodiscard]] std::span<std::byte> memory() noexcept { return memory_; }

    std::vector<wire::Completion> sent;
    std::vector<wire::Completion> received;

  private:
    Recorder& device_;
    std::unique_ptr<wire::CompletionQueue> send_cq_;
    std::unique_ptr<wire::CompletionQueue> receive_cq_;
    std::unique_ptr<wire::QueuePair> queue_pair_;
    wire::PeerHandle peer_{};
    std::vector<std::byte> memory_;
    std::unique_ptr<wire::MemoryRegion> region_;
    std::uint64_t next_ = 0;
};

/// Two ranks of verbena on the bench.
struct Ranks {
    Ranks(Bench& bench, msg::EngineOptions options);

    msg::Engine& operator[](std::size_t rank) { return *engines[rank]; }
    /// Both ranks make progress until `done()` or nothing moves any more; what `done()` says then.
    bool run_until(const std::function<bool()>& done);

    Bench& bench;
    mem::Spaces spaces{"off"};
    std::unique_ptr<msg::Engine> engines[2];
};

/// At most 48 marks; where a ledger has more slots, one stands for several.
[[nodiscard]] std::string fit(const std::string& marks);

} // namespace verbena::lab
