#include "verbs/sysfs.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "verbs/gid_rules.hpp"

namespace verbena::verbs {
namespace {

namespace fs = std::filesystem;

fs::path device_path(const Roots& roots, const std::string& device) {
    return fs::path(roots.sys) / "class/infiniband" / device;
}

std::vector<std::string> entries(const fs::path& directory) {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
        names.push_back(at->path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
}

/// Numeric names in numeric order: "10" after "2".
std::vector<int> numbers(const fs::path& directory) {
    std::vector<int> result;
    for (const std::string& name : entries(directory)) result.push_back(std::atoi(name.c_str()));
    std::sort(result.begin(), result.end());
    return result;
}

/// "4: ACTIVE" -> 4 and "ACTIVE".
std::pair<int, std::string> numbered(const std::string& text) {
    const std::size_t colon = text.find(": ");
    if (colon == std::string::npos) return {-1, text};
    return {std::atoi(text.c_str()), text.substr(colon + 2)};
}

PortState port_state(int code) {
    return code >= 0 && code <= static_cast<int>(PortState::active_defer) ? static_cast<PortState>(code)
                                                                          : PortState::unknown;
}

PortInfo read_port(const fs::path& directory, int number) {
    PortInfo port;
    port.number = number;
    port.state = port_state(numbered(read_line(directory / "state")).first);
    port.phys_state = numbered(read_line(directory / "phys_state")).second;
    port.link_layer = read_line(directory / "link_layer");
    port.rate_gbps = std::strtod(read_line(directory / "rate").c_str(), nullptr);
    port.lid = static_cast<unsigned>(std::strtoul(read_line(directory / "lid").c_str(), nullptr, 0));
    return port;
}

/// The kernel driver of the function behind it; software devices have none and carry their kind in `node_desc`.
std::string driver_of(const fs::path& device) {
    std::error_code error;
    const fs::path link = fs::read_symlink(device / "device/driver", error);
    return error ? read_line(device / "node_desc") : link.filename().string();
}

} // namespace

std::string read_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

bool has_device_class(const Roots& roots) {
    std::error_code error;
    return fs::is_directory(fs::path(roots.sys) / "class/infiniband", error);
}

std::vector<std::string> device_names(const Roots& roots) { return entries(device_path(roots, "")); }

std::string uverbs_name(const Roots& roots, const std::string& device) {
    const fs::path directory = fs::path(roots.sys) / "class/infiniband_verbs";
    for (const std::string& name : entries(directory)) {
        if (read_line(directory / name / "ibdev") == device) return name;
    }
    return {};
}

std::string gid_netdev(const Roots& roots, const std::string& device, int port, int index) {
    return read_line(device_path(roots, device) / fmt::format("ports/{}/gid_attrs/ndevs/{}", port, index));
}

bool is_iwarp(const Roots& roots, const std::string& device) {
    return numbered(read_line(device_path(roots, device) / "node_type")).second == "RNIC";
}

DeviceInfo read_device(const Roots& roots, const std::string& device) {
    const fs::path directory = device_path(roots, device);
    DeviceInfo info;
    info.backend = backend_name;
    info.name = device;
    info.driver = driver_of(directory);
    info.firmware = read_line(directory / "fw_ver");
    info.node_guid = read_line(directory / "node_guid");
    if (const std::string node = read_line(directory / "device/numa_node"); !node.empty()) {
        info.numa_node = std::atoi(node.c_str());
    }
    for (const int number : numbers(directory / "ports")) {
        info.ports.push_back(read_port(directory / "ports" / std::to_string(number), number));
    }
    return info;
}

} // namespace verbena::verbs
