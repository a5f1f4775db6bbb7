#include "coll/selection.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <verbena/error.hpp>

namespace verbena::coll {
namespace {

double ring_cost(const CostModel& model, std::uint32_t ranks, double bytes) {
    const double hops = 2.0 * (ranks - 1);
    const double chunk = bytes / ranks;
    return hops * (model.latency_ns + chunk * model.transfer_ns_per_byte) +
           hops / 2 * chunk * model.reduction_ns_per_byte;
}

double recursive_doubling_cost(const CostModel& model, std::uint32_t ranks, double bytes) {
    const std::uint32_t power = std::bit_floor(ranks);
    const double exchange = model.latency_ns + bytes * model.transfer_ns_per_byte;
    const double reduction = bytes * model.reduction_ns_per_byte;
    const double rounds = std::bit_width(power) - 1;
    const double folding = power == ranks ? 0 : 2 * exchange + reduction; // in, and the result back
    return rounds * (exchange + reduction) + folding;
}

constexpr std::array algorithms = {
    Algorithm{"ring", ring_all_reduce, ring_cost},
    Algorithm{"recursive_doubling", recursive_doubling_all_reduce, recursive_doubling_cost},
};

} // namespace

const Algorithm& all_reduce_named(std::string_view name) {
    const auto* found =
        std::find_if(algorithms.begin(), algorithms.end(), [name](const Algorithm& each) { return each.name == name; });
    if (found != algorithms.end()) return *found;
    throw Error(ErrorCode::invalid_argument, fmt::format("no all-reduce algorithm is called \"{}\"", name),
                fmt::format("there are: {}; an empty name chooses by size", fmt::join(all_reduce_algorithms(), ", ")));
}

const Algorithm& cheapest_all_reduce(std::uint32_t ranks, std::uint64_t bytes, const CostModel& model) {
    const auto size = static_cast<double>(bytes);
    return *std::min_element(algorithms.begin(), algorithms.end(), [&](const Algorithm& a, const Algorithm& b) {
        return a.cost_ns(model, ranks, size) < b.cost_ns(model, ranks, size);
    });
}

AlgorithmChoice select_all_reduce(std::uint32_t ranks, std::uint64_t bytes, const CostModel& model) {
    const Algorithm& chosen = cheapest_all_reduce(ranks, bytes, model);
    if (ranks == 1) return {std::string(chosen.name), "one rank: the input is copied, no message is sent"};
    std::vector<std::string> costs;
    for (const Algorithm& each : algorithms) {
        costs.push_back(
            fmt::format("{} {:.1f} us", each.name, each.cost_ns(model, ranks, static_cast<double>(bytes)) / 1000));
    }
    return {
        std::string(chosen.name),
        fmt::format(
            "{} bytes on {} ranks: predicted {} ({:.1f} us a message, {:.2f} ns a byte sent, {:.2f} ns a byte reduced)",
            bytes, ranks, fmt::join(costs, ", "), model.latency_ns / 1000, model.transfer_ns_per_byte,
            model.reduction_ns_per_byte)};
}

std::vector<std::string> all_reduce_algorithms() {
    std::vector<std::string> names;
    for (const Algorithm& each : algorithms) names.emplace_back(each.name);
    return names;
}

std::uint64_t segment_bytes(std::uint32_t ranks, std::uint64_t bytes) noexcept {
    constexpr std::uint64_t shortest = 256 << 10;
    constexpr std::uint64_t most_messages = 16;
    const std::uint64_t chunk = bytes / ranks + 1;
    return std::max(shortest, chunk / most_messages + 1);
}

} // namespace verbena::coll
