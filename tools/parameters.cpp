#include "parameters.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace verbena::tools {
namespace {

constexpr std::string_view absent = "not given";

std::string_view shown(std::string_view value) { return value.empty() ? absent : value; }

bool has(const Parameters& parameters, std::string_view name) {
    return std::any_of(parameters.entries().begin(), parameters.entries().end(),
                       [&](const auto& entry) { return entry.first == name; });
}

} // namespace

std::string_view Parameters::text(std::string_view name) const {
    for (const auto& [candidate, value] : entries_) {
        if (candidate == name) return value;
    }
    return {};
}

std::string Parameters::encode() const {
    std::string text;
    for (const auto& [name, value] : entries_) text += fmt::format("{}={}\n", name, value);
    return text;
}

Parameters Parameters::decode(std::string_view text) {
    Parameters parameters;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        const std::size_t equals = std::min(line.find('='), line.size());
        if (!line.empty()) {
            parameters.set(std::string(line.substr(0, equals)),
                           std::string(line.substr(std::min(equals + 1, line.size()))));
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parameters;
}

std::vector<std::string> differences(const Parameters& here, const Parameters& other, std::string_view where) {
    std::vector<std::string> found;
    const auto compare = [&](std::string_view name) {
        const std::string_view mine = here.text(name);
        const std::string_view theirs = other.text(name);
        if (mine != theirs) found.push_back(fmt::format("{}: {} here, {} {}", name, shown(mine), shown(theirs), where));
    };
    for (const auto& entry : here.entries()) compare(entry.first);
    for (const auto& entry : other.entries()) {
        if (!has(here, entry.first)) compare(entry.first);
    }
    return found;
}

} // namespace verbena::tools
