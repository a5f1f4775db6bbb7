#include "coll/selection.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <verbena/error.hpp>

#include "coll/costs.hpp"

namespace verbena::coll {
namespace {

using Hop = Algorithm::Hop;
using enum Collective;

constexpr std::array table = {
    Algorithm{barrier, "dissemination", dissemination_barrier, dissemination_cost},
    Algorithm{all_reduce, "ring", ring_all_reduce, ring_all_reduce_cost},
    Algorithm{all_reduce, "recursive_doubling", recursive_doubling_all_reduce, recursive_doubling_all_reduce_cost},
    Algorithm{all_reduce, "rabenseifner", rabenseifner_all_reduce, rabenseifner_cost},
    Algorithm{all_reduce, "double_tree", double_tree_all_reduce, double_tree_all_reduce_cost, Hop::whole},
    Algorithm{broadcast, "binomial", binomial_broadcast, binomial_broadcast_cost, Hop::whole},
    Algorithm{broadcast, "scatter_all_gather", scatter_all_gather_broadcast, scatter_all_gather_cost},
    Algorithm{broadcast, "double_tree", double_tree_broadcast, double_tree_cost, Hop::whole},
    Algorithm{reduce, "binomial", binomial_reduce, binomial_reduce_cost, Hop::whole},
    Algorithm{reduce, "double_tree", double_tree_reduce, double_tree_reduce_cost, Hop::whole},
    Algorithm{reduce_scatter, "ring", ring_reduce_scatter, ring_reduce_scatter_cost},
    Algorithm{reduce_scatter, "recursive_halving", recursive_halving_reduce_scatter, recursive_halving_cost, Hop::block,
              true},
    Algorithm{all_gather, "ring", ring_all_gather, ring_all_gather_cost},
    Algorithm{all_gather, "recursive_doubling", recursive_doubling_all_gather, doubling_all_gather_cost, Hop::block,
              true},
    Algorithm{all_gather, "bruck", bruck_all_gather, doubling_all_gather_cost},
    Algorithm{gather, "linear", linear_gather, linear_cost},
    Algorithm{gather, "binomial", binomial_gather, binomial_blocks_cost},
    Algorithm{scatter, "linear", linear_scatter, linear_cost},
    Algorithm{scatter, "binomial", binomial_scatter, binomial_blocks_cost},
    Algorithm{all_to_all, "pairwise", pairwise_all_to_all, pairwise_cost},
    Algorithm{all_to_all, "bruck", bruck_all_to_all, bruck_all_to_all_cost},
    Algorithm{scan, "recursive_doubling", doubling_scan, doubling_scan_cost},
    Algorithm{scan, "chain", chain_scan, chain_scan_cost, Hop::whole},
    Algorithm{exclusive_scan, "recursive_doubling", doubling_exclusive_scan, doubling_scan_cost},
    Algorithm{reduce_scatter_v, "ring", ring_reduce_scatter, ring_reduce_scatter_cost},
    Algorithm{all_gather_v, "ring", ring_all_gather, ring_all_gather_cost},
    Algorithm{all_gather_v, "bruck", bruck_all_gather, doubling_all_gather_cost},
    Algorithm{gather_v, "linear", linear_gather, linear_cost},
    Algorithm{scatter_v, "linear", linear_scatter, linear_cost},
    Algorithm{all_to_all_v, "pairwise", pairwise_all_to_all, pairwise_cost},
};

/// The table lists each collective's algorithms one after another.
std::span<const Algorithm> algorithms_of(Collective collective) {
    const auto is_of_it = [collective](const Algorithm& each) { return each.collective == collective; };
    const auto first = std::ranges::find_if(table, is_of_it);
    return {first, std::find_if_not(first, table.end(), is_of_it)};
}

} // namespace

bool Algorithm::can_run(std::uint32_t ranks) const noexcept {
    return !needs_power_of_two || std::has_single_bit(ranks);
}

std::span<const Algorithm> algorithms() noexcept { return table; }

std::vector<std::string> algorithm_names(Collective collective) {
    std::vector<std::string> names;
    for (const Algorithm& each : algorithms_of(collective)) names.emplace_back(each.name);
    return names;
}

const Algorithm& algorithm_named(Collective collective, std::string_view name, std::uint32_t ranks) {
    for (const Algorithm& each : algorithms_of(collective)) {
        if (each.name != name) continue;
        if (each.can_run(ranks)) return each;
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format("{} {} needs a power of two of ranks, there are {}", verbena::name(collective), name, ranks),
            "an empty name chooses among those that fit");
    }
    throw Error(
        ErrorCode::invalid_argument, fmt::format("no {} algorithm is called \"{}\"", verbena::name(collective), name),
        fmt::format("there are: {}; an empty name chooses by size", fmt::join(algorithm_names(collective), ", ")));
}

const Algorithm& cheapest(Collective collective, std::uint32_t ranks, std::uint64_t bytes, const CostModel& model) {
    const Algorithm* best = nullptr;
    double lowest = 0;
    for (const Algorithm& each : algorithms_of(collective)) {
        if (!each.can_run(ranks)) continue;
        const double cost = each.cost_ns(model, ranks, static_cast<double>(bytes));
        if (best == nullptr || cost < lowest) {
            best = &each;
            lowest = cost;
        }
    }
    if (best != nullptr) return *best;
    throw Error(ErrorCode::invalid_argument, fmt::format("{} is no collective", static_cast<unsigned>(collective)));
}

AlgorithmChoice select(Collective collective, std::uint32_t ranks, std::uint64_t bytes, const CostModel& model) {
    const Algorithm& chosen = cheapest(collective, ranks, bytes, model);
    if (ranks == 1) return {std::string(chosen.name), "one rank: the input is copied, no message is sent"};
    std::vector<std::string> costs;
    for (const Algorithm& each : algorithms_of(collective)) {
        costs.push_back(each.can_run(ranks) ? fmt::format("{} {:.1f} us", each.name,
                                                          each.cost_ns(model, ranks, static_cast<double>(bytes)) / 1000)
                                            : fmt::format("{} only for powers of two", each.name));
    }
    return {
        std::string(chosen.name),
        fmt::format(
            "{} bytes on {} ranks: predicted {} ({:.1f} us a message, {:.2f} ns a byte sent, {:.2f} ns a byte reduced)",
            bytes, ranks, fmt::join(costs, ", "), model.latency_ns / 1000, model.transfer_ns_per_byte,
            model.reduction_ns_per_byte)};
}

std::uint64_t segment_bytes(std::uint32_t parts, std::uint64_t bytes) noexcept {
    constexpr std::uint64_t shortest = 256 << 10;
    constexpr std::uint64_t most_messages = 16;
    const std::uint64_t chunk = bytes / parts + 1;
    return std::max(shortest, chunk / most_messages + 1);
}

std::uint64_t segment_bytes(const Algorithm& algorithm, std::uint32_t ranks, std::uint64_t bytes) noexcept {
    return segment_bytes(algorithm.hop == Hop::whole ? 1 : ranks, bytes);
}

} // namespace verbena::coll
