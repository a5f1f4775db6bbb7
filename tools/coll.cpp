/// `verbena coll`: time, bandwidth and correctness over any number of ranks.
#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <verbena/error.hpp>
#include <verbena/plan.hpp>

#include "coll_operation.hpp"
#include "collective.hpp"
#include "command.hpp"
#include "launch.hpp"
#include "memory_kind.hpp"
#include "notice.hpp"
#include "simulate.hpp"
#include "sizes.hpp"
#include "text_file.hpp"

namespace verbena::tools {
namespace {

constexpr std::uint32_t most_local_ranks = 4096;

struct Coll {
    std::string operation;
    std::uint32_t ranks = 0; ///< 0: what a launcher says
    std::string sizes = "8:64MiB";
    std::uint64_t factor = 2;
    std::uint64_t iterations = 0; ///< 0: by size
    std::uint64_t warmup = 5;
    std::string type = "f32";
    std::string op = "sum";
    std::uint32_t root = 0;
    std::string memory = "host";
    std::string algorithm;
    bool in_place = false;
    bool check = true;
    std::string plan_file;  ///< empty: none
    std::string write_plan; ///< likewise
    bool simulate = false;
    std::string topology = "two-level";
};

CollectiveOptions options_of(const Coll& coll) {
    const CollOperation& operation = coll_operation_named(coll.operation);
    const auto type = data_type_of(coll.type);
    const auto op = reduce_op_of(coll.op);
    if (!type) {
        throw Error(ErrorCode::invalid_argument, fmt::format("no element type is called \"{}\"", coll.type),
                    "the types are i8, u8, i32, u32, i64, u64, f32, f64, f16, bf16, f8e4m3, f8e5m2");
    }
    if (!op) {
        throw Error(ErrorCode::invalid_argument, fmt::format("no reduction is called \"{}\"", coll.op),
                    "the reductions are sum, prod, min, max, avg");
    }
    const std::vector<std::string> known = Group::algorithms(operation.collective);
    if (coll.plan_file.empty() && !coll.algorithm.empty() &&
        std::find(known.begin(), known.end(), coll.algorithm) == known.end()) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("no {} algorithm is called \"{}\"", coll.operation, coll.algorithm),
                    fmt::format("the algorithms are {}", fmt::join(known, ", ")));
    }
    if (coll.in_place && !operation.works_in_place()) {
        throw Error(ErrorCode::invalid_argument, fmt::format("{} does not work in place", coll.operation),
                    "leave --in-place out");
    }
    if (operation.is_scan && *op == ReduceOp::avg) {
        throw Error(ErrorCode::invalid_argument, fmt::format("{} has no average", coll.operation),
                    "the reductions are sum, prod, min, max");
    }
    if (coll.root != 0 && !operation.has_root()) {
        throw Error(ErrorCode::invalid_argument, fmt::format("{} has no root", coll.operation), "leave --root out");
    }
    if (coll.ranks != 0 && coll.root >= coll.ranks) {
        throw Error(ErrorCode::invalid_argument, fmt::format("{} is no rank: there are {}", coll.root, coll.ranks),
                    fmt::format("the root is one of 0 to {}", coll.ranks - 1));
    }
    // Only a reduction has one; other operations' inputs are as those of a sum.
    const ReduceOp reduction = operation.reduces ? *op : ReduceOp::sum;
    return {operation,      *type,         reduction,  coll.root,
            coll.algorithm, coll.in_place, coll.check, memory_choice_of(coll.memory)};
}

/// What the calls are told, a size after the other: whole elements only. @throws Error for a size that holds none.
std::vector<std::size_t> counts_of(const Coll& coll, const CollOperation& operation, DataType type,
                                   std::uint32_t ranks) {
    std::vector<std::size_t> counts;
    for (const std::uint64_t bytes : parse_sizes(coll.sizes, coll.factor)) {
        const std::size_t count = block_count(operation, bytes, size_of(type), ranks);
        if (count == 0) {
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("{} bytes hold no {}, which takes {}", bytes, name(type), size_of(type)),
                        fmt::format("begin --size at {} or above", size_of(type)));
        }
        if (counts.empty() || counts.back() != count) counts.push_back(count);
    }
    return counts;
}

/// True when this process is to start the ranks and not to be one.
bool is_launcher(const Coll& coll, const Settings& settings) {
    if (!settings.is_set("rank")) return coll.ranks != 0;
    if (coll.ranks != 0 && settings.number("size") != coll.ranks) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("-n asks for {} ranks and the job has {}", coll.ranks, settings.text("size")),
                    "leave -n out under a launcher");
    }
    return false;
}

std::string wrong_sentence(std::uint32_t rank, const RankResult& result, std::size_t count,
                           const CollectiveOptions& options) {
    return fmt::format(
        "wrong result on rank {}: element {} of {} ({} {}, iteration {}) should be {} and is {}; {} wrong in all "
        "there",
        rank, result.offset, count, name(options.type), name(options.op), result.iteration, result.expected, result.got,
        result.wrong);
}

std::size_t longest_algorithm(Collective collective) {
    std::size_t longest = 0;
    for (const std::string& name : Group::algorithms(collective)) longest = std::max(longest, name.size());
    return longest;
}

Record row_of(const CollectiveOptions& options, std::size_t count, const std::string& algorithm, std::uint64_t warmup,
              std::uint64_t iterations, std::uint32_t ranks, const std::vector<RankResult>& results) {
    const std::uint64_t bytes = longer_count(options.operation, count, ranks) * size_of(options.type);
    const auto slowest = std::max_element(results.begin(), results.end(), [](const auto& left, const auto& right) {
        return left.seconds < right.seconds;
    });
    const Seconds time(slowest->seconds);
    const double algorithm_bandwidth = algorithm_gigabytes_per_second(bytes, time);
    Record row{"result",
               {whole("size_bytes", "bytes", bytes), whole("count", "count", count),
                word("type", "type", std::string(name(options.type))),
                word("op", "op", std::string(options.operation.reduces ? name(options.op) : "none")),
                word("algorithm", "algorithm", algorithm, longest_algorithm(options.operation.collective)),
                whole("iterations", "iterations", iterations), whole("warmup", "warmup", warmup),
                real("time_us", "time us", Microseconds(time).count(), 2),
                real("algorithm_bandwidth_gigabytes_per_second", "algbw GB/s", algorithm_bandwidth, 3)}};
    if (ranks > 1) { // one rank has no bus
        row.fields.push_back(real("bus_bandwidth_gigabytes_per_second", "busbw GB/s",
                                  bus_bandwidth(options.operation, algorithm_bandwidth, ranks), 3));
    }
    if (options.check) {
        std::uint64_t wrong = 0;
        for (const RankResult& result : results) wrong += result.wrong;
        row.fields.push_back(whole("wrong", "wrong", wrong));
    }
    return row;
}

int measure(Session& session, const Coll& coll, const CollectiveOptions& options, Output& output) {
    Runtime& runtime = session.runtime();
    const bool is_printing = runtime.rank() == 0;
    const std::vector<std::size_t> counts = counts_of(coll, options.operation, options.type, runtime.size());
    const auto bytes_of = [&](std::size_t count) {
        return longer_count(options.operation, count, runtime.size()) * size_of(options.type);
    };
    if (!coll.plan_file.empty()) {
        const std::string added = runtime.world().add_plan(read_text_file(coll.plan_file));
        if (added != options.algorithm) throw Error(ErrorCode::invalid_argument, "the plan has changed meanwhile");
    }
    CollectiveTest test(session, options, bytes_of(counts.back()));
    const ClosesOnFailure guard(session);
    bool is_right = true;
    for (const std::size_t count : counts) {
        const std::uint64_t bytes = bytes_of(count);
        const std::uint64_t iterations =
            coll.iterations != 0 ? coll.iterations : default_iterations(bytes, 256ull << 20, 20, 1000);
        if (is_printing) progress(fmt::format("{}, {}, {} iterations", coll.operation, size_text(bytes), iterations));
        const RankResult mine = test.run(count, coll.warmup, iterations);
        std::vector<RankResult> results;
        for (const std::string& text : session.exchange(mine.encode())) results.push_back(RankResult::decode(text));
        const std::string algorithm = !options.algorithm.empty()
                                          ? options.algorithm
                                          : runtime.world().explain(options.operation.collective, bytes).algorithm;
        if (is_printing) {
            progress("");
            output.row(row_of(options, count, algorithm, coll.warmup, iterations, runtime.size(), results));
        }
        for (std::uint32_t rank = 0; rank < results.size(); ++rank) {
            if (results[rank].wrong == 0) continue;
            is_right = false;
            if (is_printing) notice(wrong_sentence(rank, results[rank], count, options));
        }
    }
    return is_right ? done : found_failure;
}

Parameters parameters_of(const Coll& coll) {
    Parameters parameters;
    parameters.set("command", "coll " + coll.operation);
    parameters.set("size", coll.sizes);
    parameters.set("factor", fmt::format("{}", coll.factor));
    parameters.set("type", coll.type);
    parameters.set("op", coll.op);
    parameters.set("root", fmt::format("{}", coll.root));
    parameters.set("algorithm", coll.algorithm);
    parameters.set("iterations", coll.iterations != 0 ? fmt::format("{}", coll.iterations) : "by size");
    parameters.set("warmup", fmt::format("{}", coll.warmup));
    parameters.set("check", coll.check ? "yes" : "no");
    return parameters;
}

/// `--simulate` and `--write-plan` need no job.
int run_alone(const Coll& coll, const Options& options) {
    const CollectiveOptions wanted = options_of(coll);
    if (coll.ranks == 0) {
        throw Error(ErrorCode::invalid_argument, "of how many ranks?", "give their number with -n");
    }
    if (!coll.write_plan.empty()) {
        const std::vector<std::size_t> counts = counts_of(coll, wanted.operation, wanted.type, coll.ranks);
        write_text_file(coll.write_plan, plan_text(wanted.operation.collective, coll.ranks, counts.front(),
                                                   size_of(wanted.type), coll.root, coll.algorithm));
        return done;
    }
    Output output("coll", options.json, options.color);
    simulate_collective(
        {wanted.operation.collective, coll.ranks, parse_sizes(coll.sizes, coll.factor), coll.topology, coll.algorithm},
        output);
    return done;
}

/// The name that a plan file gives itself: it stands for the algorithm. @throws Error
std::string plan_name(const std::string& path) {
    const auto plan = nlohmann::json::parse(read_text_file(path), nullptr, false);
    if (!plan.is_object() || !plan.contains("name") || !plan["name"].is_string()) {
        throw Error(ErrorCode::invalid_argument, fmt::format("{} is no plan: it has no \"name\"", path),
                    "docs/plan-format.md describes plans");
    }
    return plan["name"].get<std::string>();
}

int run(Coll coll, const Options& options) {
    if (coll.simulate || !coll.write_plan.empty()) return run_alone(coll, options);
    if (!coll.plan_file.empty()) coll.algorithm = plan_name(coll.plan_file);
    const CollectiveOptions wanted = options_of(coll);
    static_cast<void>(counts_of(coll, wanted.operation, wanted.type, 1));
    const Settings settings = settings_of(options);
    if (is_launcher(coll, settings)) {
        if (coll.ranks > most_local_ranks) {
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("{} ranks are more than {}", coll.ranks, most_local_ranks),
                        "so many can be simulated: --simulate");
        }
        return launch({.ranks = coll.ranks, .command = own_command(options.arguments), .report_exit_status = false});
    }
    Session session(settings, options.verbosity);
    Runtime& runtime = session.runtime();
    if (runtime.size() > 1) name_notices(fmt::format("verbena coll: rank {}", runtime.rank()), options.color);
    session.agree(parameters_of(coll));
    Output output("coll", options.json, options.color);
    if (runtime.rank() == 0) {
        Record parameters{"parameters",
                          {word("operation", "operation", coll.operation), whole("ranks", "ranks", runtime.size())}};
        for (Field& field : session.description()) parameters.fields.push_back(std::move(field));
        if (wanted.operation.has_root()) parameters.fields.push_back(whole("root", "root", wanted.root));
        parameters.fields.push_back(word("memory", "memory", memory_note(wanted.memory)));
        parameters.fields.push_back(word("placement", "placement", coll.in_place ? "in place" : "out of place"));
        parameters.fields.push_back(word("time", "time", "mean of a call on the slowest rank"));
        output.block(parameters);
    }
    const int status = measure(session, coll, wanted, output);
    static_cast<void>(session.exchange("end")); // a rank that leaves with a failure must not end the one that prints it
    return status;
}

} // namespace

Run add_coll(CLI::App& command) {
    auto coll = std::make_shared<Coll>();
    std::vector<std::string> names;
    for (const CollOperation& each : coll_operations()) names.emplace_back(name(each.collective));
    command.add_option("OPERATION", coll->operation, fmt::format("{}", fmt::join(names, ", ")))
        ->required()
        ->check(CLI::IsMember(names).description(""));
    command
        .add_option("-n,--ranks", coll->ranks,
                    "start so many ranks on this machine; without it a launcher says who we are")
        ->check(CLI::Range(1, 1 << 20).description(""))
        ->type_name("N");
    command.add_option("-s,--size", coll->sizes, "bytes of a rank's longer buffer, one or a sweep [8:64MiB]")
        ->type_name("BYTES[:BYTES]");
    command.add_option("--factor", coll->factor, "from one size to the next [2]")->type_name("N");
    command.add_option("--type", coll->type, "i8, u8, i32, u32, i64, u64, f32, f64, f16, bf16, f8e4m3, f8e5m2 [f32]")
        ->type_name("TYPE");
    command.add_option("--op", coll->op, "sum, prod, min, max, avg [sum]")->type_name("OP");
    command.add_option("--root", coll->root, "the root of those that have one [0]")->type_name("RANK");
    command.add_option("--algorithm", coll->algorithm, "force one [chosen by size]")->type_name("NAME");
    command.add_option("--plan", coll->plan_file, "run the plan in this file, once it is proved")->type_name("FILE");
    command.add_option("--write-plan", coll->write_plan, "write the plan for the first size, and end; needs -n")
        ->type_name("FILE");
    command.add_flag("--simulate", coll->simulate, "time the plans over a network that is not there; needs -n");
    command.add_option("--topology", coll->topology, "of --simulate: two-level, fat-tree, or a file [two-level]")
        ->type_name("NAME|FILE");
    command.add_option("--iterations", coll->iterations, "timed calls a size [by size, 20 to 1000]")
        ->check(CLI::PositiveNumber.description(""))
        ->type_name("N");
    command.add_option("--warmup", coll->warmup, "untimed calls before them [5]")
        ->check(CLI::Range(0, 1 << 30).description(""))
        ->type_name("N");
    command.add_option("--memory", coll->memory, "host, pinned, cuda[:N], managed[:N] [host]")->type_name("KIND");
    command.add_flag("--in-place", coll->in_place, "the input is also the output");
    command.add_flag("--check,!--no-check", coll->check, "compare every element with the right result [on]");
    return [coll](const Options& options) { return run(*coll, options); };
}

} // namespace verbena::tools
