#include "collective.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <verbena/error.hpp>

#include "parameters.hpp"

namespace verbena::tools {

using Clock = std::chrono::steady_clock;

std::string RankResult::encode() const {
    const Json object = {{"seconds", seconds},     {"wrong", wrong},       {"offset", offset},
                         {"iteration", iteration}, {"expected", expected}, {"got", got}};
    return object.dump();
}

RankResult RankResult::decode(const std::string& text) {
    try {
        const Json object = Json::parse(text);
        RankResult result;
        object.at("seconds").get_to(result.seconds);
        object.at("wrong").get_to(result.wrong);
        object.at("offset").get_to(result.offset);
        object.at("iteration").get_to(result.iteration);
        object.at("expected").get_to(result.expected);
        object.at("got").get_to(result.got);
        return result;
    } catch (const Json::exception& error) {
        throw Error(ErrorCode::protocol_violation, fmt::format("a rank's result cannot be read: {}", error.what()),
                    "start every rank with the same version of verbena");
    }
}

CollectiveTest::CollectiveTest(Session& session, const CollectiveOptions& options, std::uint64_t largest_bytes)
    : session_(session),
      options_(options),
      world_(session.runtime().world()),
      input_(session.runtime().allocate(largest_bytes, options.memory.kind, options.memory.gpu)) {
    if (!options.in_place) output_ = session.runtime().allocate(largest_bytes, options.memory.kind, options.memory.gpu);
    if (options.check) staging_.resize(largest_bytes);
}

Reduction CollectiveTest::reduction(std::uint64_t iteration) {
    return {options_.type, options_.op, session_.runtime().size(), iteration};
}

CollBuffers CollectiveTest::buffers(std::size_t count) {
    return buffers_of(options_.operation, count, world_.rank(), world_.size(), options_.root);
}

std::span<std::byte> CollectiveTest::input(std::size_t count) {
    const CollBuffers found = buffers(count);
    return {input_.data() + (options_.in_place ? bytes_of(found.input_at) : 0), bytes_of(found.input)};
}

std::span<std::byte> CollectiveTest::output(std::size_t count) {
    const CollBuffers found = buffers(count);
    if (!options_.in_place) return {output_.data(), bytes_of(found.output)};
    return {input_.data() + bytes_of(found.output_at), bytes_of(found.output)};
}

Operation CollectiveTest::start(std::size_t count) {
    const std::byte* from = input(count).data();
    std::byte* to = output(count).data();
    const auto& [operation, type, op, root, algorithm, in_place, check, memory] = options_;
    if (operation.is_uneven) {
        const std::uint32_t first = operation.is_uneven_exchange() ? world_.rank() : 0;
        counts_.clear();
        for (std::uint32_t rank = 0; rank < world_.size(); ++rank)
            counts_.push_back(block_length(operation, count, first + rank));
        return world_.start({.collective = operation.collective,
                             .input = from,
                             .output = to,
                             .type = type,
                             .op = op,
                             .root = root,
                             .algorithm = algorithm,
                             .counts = counts_,
                             .receive_counts = counts_}); // what goes from a to b is as long as what b sends to a
    }
    switch (operation.collective) {
    case Collective::all_reduce:
        return world_.all_reduce(from, to, count, type, op, algorithm);
    case Collective::broadcast:
        return world_.broadcast(from, to, count, type, root, algorithm);
    case Collective::reduce:
        return world_.reduce(from, to, count, type, op, root, algorithm);
    case Collective::reduce_scatter:
        return world_.reduce_scatter(from, to, count, type, op, algorithm);
    case Collective::all_gather:
        return world_.all_gather(from, to, count, type, algorithm);
    case Collective::gather:
        return world_.gather(from, to, count, type, root, algorithm);
    case Collective::scatter:
        return world_.scatter(from, to, count, type, root, algorithm);
    case Collective::all_to_all:
        return world_.all_to_all(from, to, count, type, algorithm);
    default:
        break;
    }
    return world_.start({.collective = operation.collective,
                         .input = from,
                         .output = to,
                         .count = count,
                         .type = type,
                         .op = op,
                         .root = root,
                         .algorithm = algorithm});
}

void CollectiveTest::call(std::size_t count) {
    Operation operation = start(count);
    session_.finish(operation, std::string(name(options_.operation.collective)));
}

void CollectiveTest::prepare(std::size_t count, std::uint64_t iteration) {
    const std::span<std::byte> to = output(count);
    const std::span<std::byte> from = input(count);
    const auto staged = [this](std::size_t bytes) { return std::span<std::byte>(staging_.data(), bytes); };
    std::fill_n(staging_.begin(), to.size(), std::byte{0xa5}); // nothing right may be left from before
    session_.runtime().copy(to.data(), staging_.data(), to.size());
    fill_input(staged(from.size()), reduction(iteration), world_.rank());
    session_.runtime().copy(from.data(), staging_.data(), from.size());
}

void CollectiveTest::check(std::size_t count, std::uint64_t iteration, RankResult& result) {
    const std::span<std::byte> to = output(count);
    session_.runtime().copy(staging_.data(), to.data(), to.size());
    const bool has_all = options_.operation.output == CollOperation::Holds::block_of_each;
    if (to.empty()) return;
    for (std::uint32_t block = 0; block < (has_all ? world_.size() : 1); ++block)
        check_block(block, count, iteration, result);
}

void CollectiveTest::check_block(std::uint32_t block, std::size_t count, std::uint64_t iteration, RankResult& result) {
    const CollOperation& operation = options_.operation;
    const bool has_all = operation.output == CollOperation::Holds::block_of_each;
    const std::uint32_t first = operation.is_uneven_exchange() ? world_.rank() : 0;
    const std::uint32_t index = has_all ? first + block : world_.rank();
    const std::size_t begin = has_all ? block_begin(operation, count, index, first) : 0;
    const std::size_t length = block_length(operation, count, index);
    const std::span<const std::byte> staged(staging_.data() + bytes_of(begin), bytes_of(length));
    const Source source = source_of(operation, block, count, world_.rank(), options_.root);
    Reduction contributions = reduction(iteration);
    if (operation.is_scan) contributions.ranks = world_.rank() + (operation.includes_self ? 1 : 0);
    if (contributions.ranks == 0) return; // the first rank of an exclusive scan has no result
    const auto wrong = find_wrong_elements(staged, contributions, source);
    if (!wrong) return;
    if (result.wrong == 0) {
        result.offset = begin + wrong->first_offset;
        result.iteration = iteration;
        result.expected = wrong->expected;
        result.got = wrong->got;
    }
    result.wrong += wrong->count;
}

RankResult CollectiveTest::run(std::size_t count, std::uint64_t warmup, std::uint64_t iterations) {
    RankResult result;
    for (std::uint64_t iteration = 0; options_.check && iteration < checked_iterations; ++iteration) {
        prepare(count, iteration);
        call(count);
        check(count, iteration, result);
    }
    for (std::uint64_t i = 0; i < warmup; ++i) call(count);
    Operation barrier = world_.barrier();
    session_.finish(barrier, "barrier");
    const auto begin = Clock::now();
    for (std::uint64_t i = 0; i < iterations; ++i) call(count);
    result.seconds = Seconds(Clock::now() - begin).count() / static_cast<double>(iterations);
    if (options_.check && !options_.in_place) check(count, checked_iterations - 1, result);
    return result;
}

} // namespace verbena::tools
