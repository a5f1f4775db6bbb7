#include "coll/extent.hpp"

#include <numeric>
#include <span>

namespace verbena::coll {

Extent extent_of(Collective collective, const Shape& shape) noexcept {
    const std::uint64_t count = shape.count;
    const std::uint64_t all = count * shape.ranks;
    const std::uint64_t own = count * shape.rank;
    const bool is_root = shape.rank == shape.root;
    const bool lists = takes_counts(collective) && !shape.counts.empty();
    const std::uint64_t mine = lists ? shape.counts[shape.rank] : 0;
    const std::uint64_t before =
        lists ? std::accumulate(shape.counts.begin(), shape.counts.begin() + shape.rank, std::uint64_t{0}) : 0;
    const auto sum = [](std::span<const std::uint64_t> counts) {
        return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    };
    switch (collective) {
    case Collective::barrier:
        return {};
    case Collective::all_reduce:
    case Collective::scan:
    case Collective::exclusive_scan:
        return {count, count, 0, 0, true};
    case Collective::broadcast:
        return {is_root ? count : 0, count, 0, 0, true};
    case Collective::reduce:
        return {count, is_root ? count : 0, 0, 0, true};
    case Collective::reduce_scatter:
        return {all, count, 0, own, true};
    case Collective::all_gather:
        return {count, all, own, 0, true};
    case Collective::gather:
        return {count, is_root ? all : 0, is_root ? own : 0, 0, true};
    case Collective::scatter:
        return {is_root ? all : 0, count, 0, is_root ? own : 0, true};
    case Collective::all_to_all:
        return {all, all, 0, 0, false};
    case Collective::reduce_scatter_v:
        return {sum(shape.counts), mine, 0, before, true};
    case Collective::all_gather_v:
        return {mine, sum(shape.counts), before, 0, true};
    case Collective::gather_v:
        return {mine, is_root ? sum(shape.counts) : 0, is_root ? before : 0, 0, true};
    case Collective::scatter_v:
        return {is_root ? sum(shape.counts) : 0, mine, 0, is_root ? before : 0, true};
    case Collective::all_to_all_v:
        return {sum(shape.counts), sum(shape.receives), 0, 0, false};
    }
    return {};
}

bool takes_counts(Collective collective) noexcept {
    return collective >= Collective::reduce_scatter_v && collective <= Collective::all_to_all_v;
}

bool has_blocks(Collective collective) noexcept {
    return (collective >= Collective::reduce_scatter && collective <= Collective::all_to_all) ||
           takes_counts(collective);
}

bool has_root(Collective collective) noexcept {
    return collective == Collective::broadcast || collective == Collective::reduce ||
           collective == Collective::gather || collective == Collective::scatter ||
           collective == Collective::gather_v || collective == Collective::scatter_v;
}

bool is_reduction(Collective collective) noexcept {
    return collective == Collective::all_reduce || collective == Collective::reduce ||
           collective == Collective::reduce_scatter || collective == Collective::reduce_scatter_v ||
           collective == Collective::scan || collective == Collective::exclusive_scan;
}

} // namespace verbena::coll
