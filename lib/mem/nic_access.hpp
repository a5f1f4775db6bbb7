/// @file
/// What stands between a NIC and a GPU's memory, as far as files and the driver tell: it explains, and proves nothing.
/// The only proof is a registration.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace verbena::mem {

/// What a consumer on the GPU needs between a NIC's completion and reading what it wrote.
enum class FlushPlan : std::uint8_t {
    none,       ///< the GPU orders such writes itself
    by_host,    ///< cuFlushGPUDirectRDMAWrites
    by_stream,  ///< a flushing wait in the consumer's stream
    impossible, ///< nothing makes them visible for certain: through host memory then
};
[[nodiscard]] std::string_view name(FlushPlan plan) noexcept; ///< a sentence's end: "no flush: ..."

/// @param ordering  CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING: 0 none, 100 for kernels of that GPU, 200 of
/// all
/// @param options   CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS: 1 by the host, 2 in a stream
/// @param other_gpu the consumer is another GPU than the one written to
[[nodiscard]] FlushPlan flush_plan(int ordering, int options, bool other_gpu) noexcept;

/// Read from files under `root`, "/" but in tests.
struct NicAccess {
    bool peer_memory = false;      ///< nvidia-peermem, or its older name, is loaded
    bool gdrdrv = false;           ///< gdrcopy's driver is loaded
    bool gdrdrv_node = false;      ///< and /dev/gdrdrv is there
    bool iommu_translates = false; ///< an IOMMU maps each page for devices: no iommu=pt
    std::uint64_t bar1_bytes = 0;  ///< of the GPU: what is mapped for a NIC at one time; 0: unknown
};
/// @param pci_address  of the GPU, "0000:00:06.0"
[[nodiscard]] NicAccess read_nic_access(const std::string& root, const std::string& pci_address);

/// One sentence each, with what to do.
[[nodiscard]] std::vector<std::string> warnings(const NicAccess& access);

/// Why `need` bytes cannot be mapped for a NIC at once, with what is free and what would help; nothing where they fit.
[[nodiscard]] std::optional<std::string> bar1_shortage(std::uint64_t total, std::uint64_t used, std::uint64_t need);

} // namespace verbena::mem
