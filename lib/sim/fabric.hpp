/// @file
/// A NIC fabric inside one process and one thread, on virtual time and one seed: the same seed gives the same run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/event_queue.hpp"
#include "sim/faults.hpp"
#include "sim/personality.hpp"
#include "sim/random.hpp"
#include "wire/device.hpp"

namespace verbena::sim {

class Device;
class QueuePair;

/// Every link of a fabric. A message of n bytes leaves a device after gap + 8n / rate, and arrives `latency` later.
struct LinkModel {
    Time latency_ns = 1000;
    std::uint32_t rate_gbps = 100; ///< gigabit per second, which is bits per nanosecond
    Time gap_ns = 20;              ///< per message, whatever its length
    std::uint32_t mtu_bytes = 4096;

    /// How long a message of `bytes` keeps its sender's link busy.
    [[nodiscard]] Time occupancy_ns(std::uint64_t bytes) const noexcept {
        return gap_ns + (bytes * 8 + rate_gbps - 1) / rate_gbps;
    }
};

struct FabricOptions {
    LinkModel link{};
    Faults faults{};
};

struct DeviceOptions {
    Personality personality = mlx5_like(); ///< a copy: a test may change what it needs to
    std::string name;                      ///< empty: "sim0", "sim1", ...
};

/// Owns time, chance and the wires between its devices. Progress-thread only. It outlives its devices.
class Fabric {
  public:
    explicit Fabric(std::uint64_t seed, const FabricOptions& options = {});
    ~Fabric();
    Fabric(const Fabric&) = delete;
    Fabric& operator=(const Fabric&) = delete;

    [[nodiscard]] std::unique_ptr<wire::Device> device(const DeviceOptions& options = {});

    /// Executes the next event; false when nothing is on its way. Time stands still then.
    bool step();
    void run_until_idle();
    /// Executes what is due until then, and lets time pass to it.
    void run_until(Time time);
    [[nodiscard]] Time now() const noexcept { return now_; }

    /// The device falls silent, as a killed process or a lost node does: nobody is told.
    void kill(wire::Device& device);
    /// Takes the device's link down or up; the device itself gets an AsyncEvent.
    void set_link(wire::Device& device, bool up);
    /// The READ of this number, counted over the fabric from 1 on, will bring one bit turned over, which the seed
    /// chooses: what no checksum of a transport finds.
    void damage_read(std::uint64_t number) noexcept { undamaged_reads_ = number; }
    /// From now on.
    void set_faults(const Faults& faults) noexcept { faults_ = faults; }

    /// Of all events executed so far: equal runs have equal hashes.
    [[nodiscard]] std::uint64_t trace_hash() const noexcept { return trace_hash_; }
    [[nodiscard]] std::uint64_t events_executed() const noexcept { return events_executed_; }

    [[nodiscard]] const Statistics& statistics() const noexcept { return statistics_; }

    // For the devices.
    [[nodiscard]] Statistics& count() noexcept { return statistics_; }
    void schedule(Time at, Event event);
    [[nodiscard]] Random& random() noexcept { return random_; }
    [[nodiscard]] const LinkModel& link() const noexcept { return link_; }
    [[nodiscard]] const Faults& faults() const noexcept { return faults_; }
    /// Whether the READ that is being served is the one to damage. Counts it.
    [[nodiscard]] bool damages_read() noexcept { return undamaged_reads_ != 0 && --undamaged_reads_ == 0; }
    [[nodiscard]] Device* find(std::uint32_t device) const noexcept; ///< null when there is none (any more)
    /// The queue pair, when a message from `from` gets there now; else null.
    [[nodiscard]] QueuePair* reach(const Device& from, std::uint32_t device, std::uint32_t queue_pair) const noexcept;
    void forget(std::uint32_t device) noexcept { devices_[device] = nullptr; }

  private:
    void trace(const Event& event) noexcept;

    Random random_;
    LinkModel link_;
    Faults faults_;
    Statistics statistics_;
    std::uint64_t undamaged_reads_ = 0; ///< until the one that is to be damaged; 0: none is
    EventQueue events_;
    Time now_ = 0;
    std::uint64_t trace_hash_ = 0xcbf29ce484222325u;
    std::uint64_t events_executed_ = 0;
    std::vector<Device*> devices_; ///< by number; borrowed, null once destroyed
};

} // namespace verbena::sim
