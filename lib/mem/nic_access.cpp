#include "mem/nic_access.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fmt/format.h>

namespace verbena::mem {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
}

std::string content(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

bool has_word(const std::string& text, const std::string& wanted) {
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        if (word == wanted) return true;
    }
    return false;
}

/// A line "first last flags" for each BAR, in hexadecimal. The GPU's memory is behind the second that is there: what
/// its makers call BAR1 is the device's third where the first has 64 bits.
std::uint64_t bar1_of(const fs::path& resource) {
    std::ifstream file(resource);
    bool is_second = false;
    for (std::string line; std::getline(file, line);) {
        std::istringstream numbers(line);
        std::uint64_t first = 0;
        std::uint64_t last = 0;
        if (!(numbers >> std::hex >> first >> last)) return 0;
        if (last <= first) continue;
        if (is_second) return last - first + 1;
        is_second = true;
    }
    return 0;
}

} // namespace

std::string_view name(FlushPlan plan) noexcept {
    switch (plan) {
    case FlushPlan::none:
        return "no flush: the GPU orders a NIC's writes";
    case FlushPlan::by_host:
        return "the host flushes a NIC's writes";
    case FlushPlan::by_stream:
        return "a wait in the stream flushes a NIC's writes";
    case FlushPlan::impossible:
        break;
    }
    return "a NIC's writes cannot be flushed: through host memory";
}

FlushPlan flush_plan(int ordering, int options, bool other_gpu) noexcept {
    constexpr int for_owner = 100;
    constexpr int for_all = 200;
    constexpr int host_can = 1;
    constexpr int stream_can = 2;
    if (ordering >= for_all || (ordering >= for_owner && !other_gpu)) return FlushPlan::none;
    if ((options & host_can) != 0) return FlushPlan::by_host;
    // A flushing wait makes writes visible to its own GPU alone.
    if ((options & stream_can) != 0 && !other_gpu) return FlushPlan::by_stream;
    return FlushPlan::impossible;
}

NicAccess read_nic_access(const std::string& root, const std::string& pci_address) {
    const fs::path base(root);
    NicAccess access;
    access.peer_memory = is_there(base / "sys/module/nvidia_peermem") || is_there(base / "sys/module/nv_peer_mem");
    access.gdrdrv = is_there(base / "sys/module/gdrdrv");
    access.gdrdrv_node = is_there(base / "dev/gdrdrv");
    const std::string arguments = content(base / "proc/cmdline");
    const bool is_on = has_word(arguments, "intel_iommu=on") || has_word(arguments, "amd_iommu=on") ||
                       has_word(arguments, "amd_iommu=force_enable");
    access.iommu_translates = is_on && !has_word(arguments, "iommu=pt");
    access.bar1_bytes = bar1_of(base / "sys/bus/pci/devices" / pci_address / "resource");
    return access;
}

std::vector<std::string> warnings(const NicAccess& access) {
    std::vector<std::string> found;
    if (access.iommu_translates) {
        found.push_back(
            "the IOMMU maps every page for devices, and large registrations of GPU memory can fail: boot with "
            "iommu=pt");
    }
    if (access.gdrdrv && !access.gdrdrv_node)
        found.push_back("gdrdrv is loaded and /dev/gdrdrv is not there: make the node, as gdrcopy's insmod.sh does");
    return found;
}

std::optional<std::string> bar1_shortage(std::uint64_t total, std::uint64_t used, std::uint64_t need) {
    const std::uint64_t free = total > used ? total - used : 0;
    if (total == 0 || need <= free) return std::nullopt;
    constexpr double mib = 1 << 20;
    return fmt::format(
        "{:.0f} MiB are to be mapped for a NIC and BAR1 has {:.0f} MiB free of {:.0f}: register pieces of at "
        "most that, or turn on Resizable BAR in the firmware",
        static_cast<double>(need) / mib, static_cast<double>(free) / mib, static_cast<double>(total) / mib);
}

} // namespace verbena::mem
