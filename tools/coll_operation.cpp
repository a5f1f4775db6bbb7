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
    const auto length = [&](Holds holds) { return holds == Holds::block ? count : count * ranks; };
    const bool reads = !operation.only_root_reads || rank == root;
    const bool writes = !operation.only_root_writes || rank == root;
    CollBuffers buffers;
    if (reads) buffers.input = length(operation.input);
    if (writes) buffers.output = length(operation.output);
    if (buffers.input < buffers.output && reads) buffers.input_at = rank * count;
    if (buffers.output < buffers.input && writes) buffers.output_at = rank * count;
    return buffers;
}

std::size_t block_count(const CollOperation& operation, std::uint64_t bytes, std::size_t size,
                        std::uint32_t ranks) noexcept {
    const std::size_t elements = bytes / size;
    return operation.has_blocks() ? std::max<std::size_t>(1, elements / ranks) : elements;
}

std::size_t longer_count(const CollOperation& operation, std::size_t count, std::uint32_t ranks) noexcept {
    return operation.has_blocks() ? count * ranks : count;
}

Source source_of(const CollOperation& operation, std::uint32_t block, std::size_t count, std::uint32_t rank,
                 std::uint32_t root) noexcept {
    Source source;
    if (!operation.reduces) source.rank = operation.output == Holds::block_of_each ? block : root;
    if (operation.input == Holds::block_of_each) source.offset = rank * count;
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
