#include "sizes.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <verbena/error.hpp>
#include <verbena/settings.hpp>

namespace verbena::tools {

std::vector<std::uint64_t> parse_sizes(std::string_view text, std::uint64_t factor) {
    if (factor < 2) {
        throw Error(ErrorCode::invalid_argument, fmt::format("a sweep cannot grow by the factor {}", factor),
                    "give --factor 2 or more");
    }
    const std::size_t colon = text.find(':');
    const std::uint64_t first = parse_bytes(text.substr(0, colon));
    const std::uint64_t last = colon == std::string_view::npos ? first : parse_bytes(text.substr(colon + 1));
    if (last < first) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("the range \"{}\" falls: {} B is above {} B", text, first, last),
                    "write the smaller size first, e.g. 8:16MiB");
    }
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t size = first; size <= last;
         size = std::max<std::uint64_t>(size * factor, 1)) { // after 0 comes 1
        sizes.push_back(size);
        if (size > last / factor) break; // the next would pass the end, or wrap
    }
    return sizes;
}

std::string size_text(std::uint64_t bytes) {
    constexpr std::array<std::pair<std::uint64_t, const char*>, 3> units = {
        {{1ull << 30, "GiB"}, {1ull << 20, "MiB"}, {1ull << 10, "KiB"}}};
    for (const auto& [unit, name] : units) {
        if (bytes >= unit && bytes % unit == 0) return fmt::format("{} {}", bytes / unit, name);
    }
    return fmt::format("{} B", bytes);
}

std::uint64_t default_iterations(std::uint64_t bytes, std::uint64_t budget_bytes, std::uint64_t least,
                                 std::uint64_t most) {
    return std::clamp(budget_bytes / std::max<std::uint64_t>(bytes, 1), least, most);
}

} // namespace verbena::tools
