#include "wire/placement.hpp"

#include <fmt/format.h>

#include <verbena/settings.hpp>

namespace verbena::wire {

Placement placement_of(const Settings& settings) {
    if (!settings.is_set("size")) return {false, "how many ranks there are is not known (setting size)"};
    const auto size = settings.number("size");
    if (size == 1) return {true, "the job has one rank"};
    if (!settings.is_set("local-size")) {
        return {false,
                fmt::format("how many of the {} ranks are on this host is not known (setting local-size)", size)};
    }
    const auto here = settings.number("local-size");
    return {here == size, here == size ? fmt::format("all {} ranks are on this host", size)
                                       : fmt::format("{} of {} ranks are on this host", here, size)};
}

std::string reaches_this_host_only(const Placement& placement) {
    return "it reaches this host only, and " + placement.words;
}

} // namespace verbena::wire
