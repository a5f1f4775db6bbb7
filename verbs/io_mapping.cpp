#include "verbs/io_mapping.hpp"

#include <sstream>

namespace verbena::verbs {
namespace {

/// "7f00-7f10 rw-s 00000000 00:06 1234   /dev/gdrdrv": the name, where the line is one of these and holds the address.
bool holds(const std::string& line, std::uintptr_t address, std::string& name) {
    std::istringstream words(line);
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    std::string rights;
    std::string offset;
    std::string device;
    std::string inode;
    if (!(words >> std::hex >> begin >> dash >> end >> rights >> offset >> device >> inode) || dash != '-')
        return false;
    name.clear();
    std::getline(words >> std::ws, name);
    return begin <= address && address < end;
}

} // namespace

std::optional<std::string> io_mapping(std::istream& smaps, std::uintptr_t address) {
    std::string name;
    bool is_inside = false;
    for (std::string line; std::getline(smaps, line);) {
        if (!is_inside) {
            is_inside = holds(line, address, name);
            continue;
        }
        if (!line.starts_with("VmFlags:")) continue;
        std::istringstream flags(line.substr(line.find(':') + 1));
        for (std::string flag; flags >> flag;) { // io: registers or memory of a device; pf: page frames without pages
            if (flag == "io" || flag == "pf") return name.empty() ? "a device" : name;
        }
        return std::nullopt;
    }
    return std::nullopt;
}

} // namespace verbena::verbs
