#include "fixture_tree.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace verbena::verbs {

namespace fs = std::filesystem;

FixtureTree::FixtureTree() : directory_((fs::temp_directory_path() / "verbena-verbs-XXXXXX").string()) {
    if (mkdtemp(directory_.data()) == nullptr) throw std::runtime_error("no temporary directory");
}

FixtureTree::~FixtureTree() {
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
}

void FixtureTree::write(const std::string& path, const std::string& text) {
    const fs::path full = fs::path(directory_) / path;
    fs::create_directories(full.parent_path());
    std::ofstream(full) << text << '\n';
}

void FixtureTree::make_directory(const std::string& path) { fs::create_directories(fs::path(directory_) / path); }

void FixtureTree::link(const std::string& path, const std::string& target) {
    const fs::path full = fs::path(directory_) / path;
    fs::create_directories(full.parent_path());
    fs::create_symlink(target, full);
}

void FixtureTree::add_device(const std::string& name, int uverbs) {
    const std::string device = "sys/class/infiniband/" + name + "/";
    write(device + "node_type", "1: CA");
    write(device + "node_guid", "00aa:00ff:fe00:0001");
    write(device + "node_desc", "rxe");
    write(device + "fw_ver", "");
    write(device + "ports/1/state", "4: ACTIVE");
    write(device + "ports/1/phys_state", "5: LinkUp");
    write(device + "ports/1/rate", "100 Gb/sec (4X EDR)");
    write(device + "ports/1/link_layer", "Ethernet");
    write(device + "ports/1/lid", "0x0");
    const std::string node = "uverbs" + std::to_string(uverbs);
    write("sys/class/infiniband_verbs/" + node + "/ibdev", name);
    write("sys/class/infiniband_verbs/" + node + "/abi_version", "2");
    write("dev/infiniband/" + node, "");
}

} // namespace verbena::verbs
