/// @file
/// What this machine offers, as plain values: devices, ports, GIDs, providers, and which of them would be used and why.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <verbena/export.hpp>

namespace verbena {

/// Names as `ibv_devinfo` prints them (IBTA spec, PortInfo).
enum class PortState : std::uint8_t { nop, down, init, armed, active, active_defer, unknown };
[[nodiscard]] VERBENA_API std::string_view name(PortState state) noexcept;

/// One entry of a port's GID table.
struct GidInfo {
    int index = 0;
    std::string gid;             ///< textual IPv6 form; an IPv4-mapped one as "::ffff:10.0.0.1"
    std::string type;            ///< "IB", "RoCE v1", "RoCE v2"
    std::string netdev;          ///< network interface behind it; empty where there is none
    bool netdev_is_here = false; ///< that interface is in this process's network namespace
};

struct PortInfo {
    int number = 1;
    PortState state = PortState::unknown;
    std::string phys_state; ///< "LinkUp", "Polling", "Disabled", ...
    std::string link_layer; ///< "InfiniBand", "Ethernet"; empty for libfabric
    unsigned max_mtu_bytes = 0;
    unsigned active_mtu_bytes = 0;
    double rate_gbps = 0; ///< gigabit per second; 0 where unknown
    unsigned lid = 0;     ///< 0 on RoCE
    std::vector<GidInfo> gids;
};

/// Limits as the device states them. What a queue pair is *granted* can be less: see Endpoint::describe().
struct DeviceLimits {
    std::uint64_t max_message_bytes = 0;
    std::uint32_t max_queue_pairs = 0;
    std::uint32_t max_work_requests = 0; ///< per queue pair, as advertised
    std::uint32_t max_sges = 0;
    std::uint32_t max_completions = 0; ///< entries of one completion queue
    std::uint32_t max_read_atomic = 0; ///< outstanding READs and atomics a queue pair may have as target
    std::uint32_t max_read_atomic_initiator = 0;
};

struct DeviceInfo {
    std::string backend;  ///< "verbs", "shm", "ofi", "sim"
    std::string name;     ///< "mlx5_0", "rxe1", "shm"; for ofi the provider, "tcp", "shm"
    std::string driver;   ///< kernel driver or provider
    std::string firmware; ///< empty where there is none
    std::string node_guid;
    int numa_node = -1;          ///< -1: unknown
    bool same_host_only = false; ///< reaches only processes of this host (shm)
    DeviceLimits limits;
    std::vector<PortInfo> ports;
    std::string problem; ///< why it cannot be used at all; empty when it can
};

/// Something that was looked at and not taken.
struct Rejection {
    std::string what;   ///< "rxe1 port 1 GID 0 (fe80::1, RoCE v1, eth0)"
    std::string reason; ///< "link-local"
};

/// The device, port and GID to use, with the reason kept.
struct Selection {
    std::string backend;
    std::string device;
    int port = 1;
    int gid_index = 0;
    std::string transport;           ///< "rc", "ud"; empty where the backend has but one
    std::string reason;              ///< one sentence: why this one
    std::string warning;             ///< empty, or one sentence on a forced choice that looks wrong
    std::vector<Rejection> rejected; ///< everything else that was looked at
};

/// A backend of this build.
struct BackendInfo {
    std::string name;
    bool usable = false;
    std::string note; ///< version where usable, else the missing link of the chain and what to do
};

/// A GPU, where the CUDA plug-in is loaded.
struct GpuInfo {
    int ordinal = 0;
    std::string name;
    std::uint64_t memory_bytes = 0;
    bool dma_buf = false;                ///< the driver exports its memory as dma-buf
    std::string uuid;                    ///< "GPU-8-4-4-4-12" in hexadecimal, as nvidia-smi -L prints it
    std::string pci_address;             ///< "0000:00:06.0"
    std::uint64_t bar1_bytes = 0;        ///< what can be mapped for a NIC at one time; 0: unknown
    std::string nic_writes;              ///< what a kernel needs before it reads what a NIC wrote
    std::string registration;            ///< how its memory moves to other hosts, and why
    std::vector<std::string> warnings{}; ///< what would keep a NIC from it, with what to do
};

struct Inventory {
    std::vector<BackendInfo> backends;
    std::vector<DeviceInfo> devices;
    std::vector<GpuInfo> gpus;
    std::string gpu_note; ///< why there are none, or the plug-in that was loaded
};

class Settings;

/// Looks at the machine. Never throws for a missing or broken device: it is listed with its problem. Thread-safe.
[[nodiscard]] VERBENA_API Inventory take_inventory();

/// Chooses by rule among `inventory` as a Runtime with these settings would.
/// @throws Error (unavailable) listing every rejected candidate with its reason when nothing is left.
[[nodiscard]] VERBENA_API Selection select_device(const Inventory& inventory, const Settings& settings);

} // namespace verbena
