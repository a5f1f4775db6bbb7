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

AllReduceTest::AllReduceTest(Session& session, const AllReduceOptions& options, std::uint64_t largest_bytes)
    : session_(session),
      options_(options),
      world_(session.runtime().world()),
      input_(session.runtime().allocate(largest_bytes, options.memory)) {
    if (!options.in_place) output_ = session.runtime().allocate(largest_bytes, options.memory);
    if (options.check) staging_.resize(largest_bytes);
}

Reduction AllReduceTest::reduction(std::uint64_t iteration) {
    return {options_.type, options_.op, session_.runtime().size(), iteration};
}

void AllReduceTest::call(std::size_t count) {
    Operation operation =
        world_.all_reduce(input_.data(), output(), count, options_.type, options_.op, options_.algorithm);
    session_.finish(operation, "all_reduce");
}

void AllReduceTest::prepare(std::size_t count, std::uint64_t iteration) {
    const std::span<std::byte> staged(staging_.data(), count * size_of(options_.type));
    if (!options_.in_place) { // nothing right may be left from before
        std::fill(staged.begin(), staged.end(), std::byte{0xa5});
        session_.runtime().copy(output(), staged.data(), staged.size());
    }
    fill_input(staged, reduction(iteration), session_.runtime().rank());
    session_.runtime().copy(input_.data(), staged.data(), staged.size());
}

void AllReduceTest::check(std::size_t count, std::uint64_t iteration, RankResult& result) {
    const std::span<std::byte> staged(staging_.data(), count * size_of(options_.type));
    session_.runtime().copy(staged.data(), output(), staged.size());
    const auto wrong = find_wrong_elements(staged, reduction(iteration));
    if (!wrong) return;
    if (result.wrong == 0) {
        result.offset = wrong->first_offset;
        result.iteration = iteration;
        result.expected = wrong->expected;
        result.got = wrong->got;
    }
    result.wrong += wrong->count;
}

RankResult AllReduceTest::run(std::size_t count, std::uint64_t warmup, std::uint64_t iterations) {
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
