#include "coll/extent.hpp"

namespace verbena::coll {

Extent extent_of(Collective collective, const Shape& shape) noexcept {
    const std::uint64_t count = shape.count;
    const std::uint64_t all = count * shape.ranks;
    const std::uint64_t own = count * shape.rank;
    const bool is_root = shape.rank == shape.root;
    switch (collective) {
    case Collective::barrier:
        return {};
    case Collective::all_reduce:
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
    }
    return {};
}

bool has_blocks(Collective collective) noexcept {
    return collective >= Collective::reduce_scatter && collective <= Collective::all_to_all;
}

bool has_root(Collective collective) noexcept {
    return collective == Collective::broadcast || collective == Collective::reduce ||
           collective == Collective::gather || collective == Collective::scatter;
}

bool is_reduction(Collective collective) noexcept {
    return collective == Collective::all_reduce || collective == Collective::reduce ||
           collective == Collective::reduce_scatter;
}

} // namespace verbena::coll
