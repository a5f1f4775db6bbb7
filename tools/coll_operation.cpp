#include "coll_operation.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <verbena/error.hpp>

namespace verbena::tools {
namespace {

using Holds = CollOperation::Holds;
using Bus = CollOperation::Bus;

constexpr std::array operations = {
    CollOperation{.collective = Collective::all_reduce, .reduces = true, .bus = Bus::all_but_own_twice},
    CollOperation{.collective = Collective::broadcast, .only_root_reads = true},
    CollOperation{.collective = Collective::reduce, .reduces = true, .only_root_writes = true},
    CollOperation{.collective = Collective::reduce_scatter,
                  .reduces = true,
                  .input = Holds::block_of_each,
                  .bus = Bus::all_but_own},
    CollOperation{.collective = Collective::all_gather, .output = Holds::block_of_each, .bus = Bus::all_but_own},
    CollOperation{.collective = Collective::gather,
                  .only_root_writes = true,
                  .output = Holds::block_of_each,
                  .bus = Bus::all_but_own},
    CollOperation{.collective = Collective::scatter,
                  .only_root_reads = true,
                  .input = Holds::block_of_each,
                  .bus = Bus::all_but_own},
    CollOperation{.collective = Collective::all_to_all,
                  .input = Holds::block_of_each,
                  .output = Holds::block_of_each,
                  .bus = Bus::all_but_own},
    CollOperation{.collective = Collective::scan, .reduces = true, .is_scan = true, .includes_self = true},
    CollOperation{.collective = Collective::exclusive_scan, .reduces = true, .is_scan = true},
    CollOperation{.collective = Collective::reduce_scatter_v,
                  .reduces = true,
                  .input = Holds::block_of_each,
                  .bus = Bus::all_but_own,
                  .is_uneven = true},
    CollOperation{.collective = Collective::all_gather_v,
                  .output = Holds::block_of_each,
                  .bus = Bus::all_but_own,
                  .is_uneven = true},
    CollOperation{.collective = Collective::gather_v,
                  .only_root_writes = true,
                  .output = Holds::block_of_each,
                  .bus = Bus::all_but_own,
                  .is_uneven = true},
    CollOperation{.collective = Collective::scatter_v,
                  .only_root_reads = true,
                  .input = Holds::block_of_each,
                  .bus = Bus::all_but_own,
                  .is_uneven = true},
    CollOperation{.collective = Collective::all_to_all_v,
                  .input = Holds::block_of_each,
                  .output = Holds::block_of_each,
                  .bus = Bus::all_but_own,
                  .is_uneven = true},
};

} // namespace

std::span<const CollOperation> coll_operations() noexcept { return operations; }

const CollOperation& coll_operation_named(const std::string& wanted) {
    std::vector<std::string_view> names;
    for (const CollOperation& each : operations) {
        if (name(each.collective) == wanted) return each;
        names.push_back(name(each.collective));
    }
    throw Error(ErrorCode::invalid_argument, fmt::format("no operation is called \"{}\"", wanted),
                fmt::format("the operations are {}", fmt::join(names, ", ")));
}

CollBuffers buffers_of(const CollOperation& operation, std::size_t count, std::uint32_t rank, std::uint32_t ranks,
                       std::uint32_t root) noexcept {
    const std::uint32_t first = operation.is_uneven_exchange() ? rank : 0;
    const std::size_t all = block_begin(operation, count, first + ranks, first);
    const std::size_t own = block_length(operation, count, rank);
    const std::size_t before = block_begin(operation, count, rank);
    const auto length = [&](Holds holds) { return holds == Holds::block_of_each ? all : own; };
    const bool reads = !operation.only_root_reads || rank == root;
    const bool writes = !operation.only_root_writes || rank == root;
    CollBuffers buffers;
    if (reads) buffers.input = length(operation.input);
    if (writes) buffers.output = length(operation.output);
    if (operation.input == operation.output) return buffers;
    if (operation.output == Holds::block_of_each && reads && writes) buffers.input_at = before;
    if (operation.input == Holds::block_of_each && reads && writes) buffers.output_at = before;
    return buffers;
}

std::size_t block_count(const CollOperation& operation, std::uint64_t bytes, std::size_t size,
                        std::uint32_t ranks) noexcept {
    const std::size_t elements = bytes / size;
    return operation.has_blocks() ? std::max<std::size_t>(1, elements / ranks) : elements;
}

std::size_t longer_count(const CollOperation& operation, std::size_t count, std::uint32_t ranks) noexcept {
    if (operation.is_uneven_exchange()) return 2 * count * ranks; // whatever the rank
    return operation.has_blocks() ? block_begin(operation, count, ranks) : count;
}

std::size_t block_length(const CollOperation& operation, std::size_t count, std::uint32_t index) noexcept {
    return operation.is_uneven ? (index + 1) % 3 * count : count;
}

std::size_t block_begin(const CollOperation& operation, std::size_t count, std::uint32_t index,
                        std::uint32_t first) noexcept {
    std::size_t begin = 0;
    for (std::uint32_t before = first; before < index; ++before) begin += block_length(operation, count, before);
    return begin;
}

Source source_of(const CollOperation& operation, std::uint32_t block, std::size_t count, std::uint32_t rank,
                 std::uint32_t root) noexcept {
    Source source;
    if (!operation.reduces) source.rank = operation.output == Holds::block_of_each ? block : root;
    if (operation.is_uneven_exchange()) {
        source.offset = block_begin(operation, count, block + rank, block);
    } else if (operation.input == Holds::block_of_each) {
        source.offset = block_begin(operation, count, rank);
    }
    return source;
}

double bus_bandwidth(const CollOperation& operation, double algorithm_bandwidth, std::uint32_t ranks) {
    const double all_but_own = algorithm_bandwidth * (ranks - 1) / ranks;
    switch (operation.bus) {
    case Bus::once:
        return ranks == 1 ? 0 : algorithm_bandwidth;
    case Bus::all_but_own:
        return all_but_own;
    case Bus::all_but_own_twice:
        break;
    }
    return 2 * all_but_own;
}

} // namespace verbena::tools
