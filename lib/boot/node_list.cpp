#include "boot/node_list.hpp"

#include <algorithm>

namespace verbena::boot {

std::string first_host(std::string_view node_list) {
    std::string host;
    while (!node_list.empty() && node_list.front() != ',') {
        const std::size_t open = std::min(node_list.find_first_of("[,"), node_list.size());
        host += node_list.substr(0, open);
        node_list.remove_prefix(open);
        if (node_list.empty() || node_list.front() == ',') break;
        // A bracket: the first number of its first range, zeros in front included. There may be several brackets.
        const std::size_t close = node_list.find(']');
        if (close == std::string_view::npos) return {};
        const std::string_view ranges = node_list.substr(1, close - 1);
        const std::size_t digits = std::min(ranges.find_first_not_of("0123456789"), ranges.size());
        const bool ends_well = digits == ranges.size() || ranges[digits] == '-' || ranges[digits] == ',';
        if (digits == 0 || !ends_well) return {};
        host += ranges.substr(0, digits);
        node_list.remove_prefix(close + 1);
    }
    return host;
}

} // namespace verbena::boot
