/// `verbena perf`: latency, bandwidth and message rate between two ends.
#include <memory>
#include <ranges>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <verbena/error.hpp>

#include "command.hpp"
#include "measurement.hpp"
#include "memory_kind.hpp"
#include "notice.hpp"
#include "one_sided_measurement.hpp"
#include "pair.hpp"
#include "sizes.hpp"
#include "statistics.hpp"

namespace verbena::tools {
namespace {

struct Perf {
    PairOptions pair;
    std::string test_names = "latency,bandwidth";
    std::string sizes;
    std::uint64_t iterations = 0; ///< 0: by size
    std::uint64_t warmup = 0;
    bool has_warmup = false;
    std::uint64_t window = 64;
    std::string memory = "host";
    std::string operation = "send";

    [[nodiscard]] std::vector<std::string> tests() const {
        std::vector<std::string> names;
        for (const auto name : std::views::split(test_names, ',')) names.emplace_back(name.begin(), name.end());
        return names;
    }
};

/// How often a size is measured.
struct Counts {
    std::uint64_t iterations = 0;
    std::uint64_t warmup = 0;
};

/// What one test does at one size. It returns the columns that it measured; the end that does not report returns none.
using Measure = std::vector<Field> (*)(Measurement&, std::uint64_t bytes, const Counts&, bool is_initiator);

struct Test {
    const char* name;
    const char* default_sizes;
    std::uint64_t budget_bytes; ///< about so much is moved for a size
    std::uint64_t most;         ///< iterations of the smallest sizes
    Measure measure;
};

std::vector<Field> latency_fields(std::vector<double>& times) {
    const Summary all = summarize(times);
    return {real("minimum_us", "min us", all.minimum, 2), real("median_us", "median us", all.median, 2),
            real("mean_us", "mean us", all.mean, 2),      real("p99_us", "p99 us", all.p99, 2),
            real("p999_us", "p99.9 us", all.p999, 2),     real("maximum_us", "max us", all.maximum, 2)};
}

std::vector<Field> latency(Measurement& measurement, std::uint64_t bytes, const Counts& counts, bool is_initiator) {
    std::vector<double> times = measurement.half_round_trips(bytes, counts.warmup, counts.iterations, is_initiator);
    return latency_fields(times);
}

Seconds streamed(Measurement& measurement, std::uint64_t bytes, const Counts& counts, bool sends, bool receives) {
    if (counts.warmup != 0) measurement.stream(bytes, sends ? counts.warmup : 0, receives ? counts.warmup : 0);
    return measurement.stream(bytes, sends ? counts.iterations : 0, receives ? counts.iterations : 0);
}

std::vector<Field> bandwidth_fields(std::uint64_t window, std::uint64_t bytes, std::uint64_t messages, Seconds time) {
    std::vector<Field> fields = {whole("window", "window", window)};
    if (bytes != 0) {
        fields.push_back(
            real("bandwidth_megabytes_per_second", "MB/s", megabytes_per_second(bytes * messages, time), 2));
        fields.push_back(real("bandwidth_gigabits_per_second", "Gb/s", gigabits_per_second(bytes * messages, time), 3));
    }
    fields.push_back(real("messages_per_second", "messages/s", messages_per_second(messages, time), 0));
    return fields;
}

std::vector<Field> bandwidth(Measurement& measurement, std::uint64_t bytes, const Counts& counts, bool is_initiator) {
    const Seconds time = streamed(measurement, bytes, counts, is_initiator, !is_initiator);
    return bandwidth_fields(measurement.window(bytes), bytes, counts.iterations, time);
}

/// Both directions together.
std::vector<Field> bidirectional(Measurement& measurement, std::uint64_t bytes, const Counts& counts, bool) {
    const Seconds time = streamed(measurement, bytes, counts, true, true);
    return bandwidth_fields(measurement.window(bytes), bytes, 2 * counts.iterations, time);
}

std::vector<Field> rate_fields(std::uint64_t window, std::uint64_t messages, Seconds time) {
    return {whole("window", "window", window),
            real("messages_per_second", "messages/s", messages_per_second(messages, time), 0),
            real("time_per_message_us", "us/message", Microseconds(time).count() / static_cast<double>(messages), 3)};
}

std::vector<Field> rate(Measurement& measurement, std::uint64_t bytes, const Counts& counts, bool is_initiator) {
    const Seconds time = streamed(measurement, bytes, counts, is_initiator, !is_initiator);
    return rate_fields(measurement.window(bytes), counts.iterations, time);
}

std::vector<Field> one_sided_fields(OneSidedMeasurement& measurement, const std::string& test, std::uint64_t bytes,
                                    const Counts& counts, bool is_initiator) {
    if (test == "latency") {
        std::vector<double> times = measurement.times(bytes, counts.warmup, counts.iterations, is_initiator);
        return latency_fields(times);
    }
    if (counts.warmup != 0) measurement.stream(bytes, counts.warmup, is_initiator);
    const Seconds time = measurement.stream(bytes, counts.iterations, is_initiator);
    if (test == "rate") return rate_fields(measurement.window(bytes), counts.iterations, time);
    return bandwidth_fields(measurement.window(bytes), bytes, counts.iterations, time);
}

constexpr std::size_t longest_name = 13;
constexpr std::uint64_t mebi = 1ull << 20;
constexpr std::array tests = {
    Test{"latency", "8:16MiB", 64 * mebi, 1000, latency},
    Test{"bandwidth", "8:16MiB", 512 * mebi, 5000, bandwidth},
    Test{"bidirectional", "8:16MiB", 512 * mebi, 5000, bidirectional},
    Test{"rate", "8", 512 * mebi, 100000, rate},
};

const Test& test_named(const std::string& name) {
    for (const Test& test : tests) {
        if (name == test.name) return test;
    }
    throw Error(ErrorCode::invalid_argument, fmt::format("no test is called \"{}\"", name),
                "the tests are latency, bandwidth, bidirectional, rate");
}

std::string sizes_text(const Perf& perf, const Test& test) {
    const PerfOperation operation = perf_operation(perf.operation);
    if (operation != PerfOperation::send && test.measure == bidirectional) {
        throw Error(ErrorCode::invalid_argument, fmt::format("{} is measured one way", perf.operation),
                    "the tests of one-sided operations are latency, bandwidth, rate");
    }
    if (is_atomic(operation)) {
        if (!perf.sizes.empty() && perf.sizes != "8") {
            throw Error(ErrorCode::invalid_argument, fmt::format("an atomic has 8 bytes, not {}", perf.sizes),
                        "leave --size away");
        }
        return "8";
    }
    return perf.sizes.empty() ? test.default_sizes : perf.sizes;
}

std::uint64_t largest_size(const Perf& perf) {
    std::uint64_t largest = 0;
    for (const std::string& name : perf.tests()) {
        largest = std::max(largest, parse_sizes(sizes_text(perf, test_named(name))).back());
    }
    return largest;
}

Counts counts_for(const Perf& perf, const Test& test, std::uint64_t bytes) {
    Counts counts;
    counts.iterations =
        perf.iterations != 0 ? perf.iterations : default_iterations(bytes, test.budget_bytes, 20, test.most);
    counts.warmup = perf.has_warmup ? perf.warmup
                                    : std::min<std::uint64_t>(std::max<std::uint64_t>(counts.iterations / 10, 2), 100);
    return counts;
}

Parameters parameters_of(const Perf& perf) {
    Parameters parameters;
    parameters.set("command", "perf");
    parameters.set("test", perf.test_names);
    parameters.set("operation", perf.operation);
    parameters.set("size", perf.sizes);
    parameters.set("iterations", perf.iterations != 0 ? fmt::format("{}", perf.iterations) : "by size");
    parameters.set("warmup", perf.has_warmup ? fmt::format("{}", perf.warmup) : "by size");
    parameters.set("window", fmt::format("{}", perf.window));
    return parameters;
}

/// Verifies and measures every test at every size; `fields` gives the columns.
template <class Measured, class Fields>
void measure_all(Session& session, const Perf& perf, bool is_initiator, Output& output, Measured& measurement,
                 Fields&& fields) {
    const ClosesOnFailure guard(session);
    for (const std::string& name : perf.tests()) {
        const Test& test = test_named(name);
        for (const std::uint64_t bytes : parse_sizes(sizes_text(perf, test))) {
            const Counts counts = counts_for(perf, test, bytes);
            progress(fmt::format("{}, {}, {} iterations", name, size_text(bytes), counts.iterations));
            Record row{"result",
                       {word("test", "test", name, longest_name), whole("size_bytes", "bytes", bytes),
                        whole("iterations", "iterations", counts.iterations),
                        whole("warmup", "warmup", counts.warmup)}};
            for (Field& field : fields(measurement, test, bytes, counts)) row.fields.push_back(std::move(field));
            progress("");
            if (is_initiator) output.row(row);
        }
    }
}

void measure(Session& session, const Perf& perf, bool is_initiator, Output& output) {
    const MemoryChoice kind = memory_choice_of(perf.memory);
    const PerfOperation operation = perf_operation(perf.operation);
    if (operation == PerfOperation::send) {
        Measurement measurement(session, largest_size(perf), perf.window, kind);
        measure_all(session, perf, is_initiator, output, measurement,
                    [&](Measurement& measured, const Test& test, std::uint64_t bytes, const Counts& counts) {
                        measured.verify(bytes);
                        return test.measure(measured, bytes, counts, is_initiator);
                    });
        return;
    }
    OneSidedMeasurement measurement(session, operation, largest_size(perf), perf.window, kind);
    measure_all(session, perf, is_initiator, output, measurement,
                [&](OneSidedMeasurement& measured, const Test& test, std::uint64_t bytes, const Counts& counts) {
                    measured.verify(bytes, is_initiator);
                    return one_sided_fields(measured, test.name, bytes, counts, is_initiator);
                });
}

std::string latency_note(PerfOperation operation) {
    switch (operation) {
    case PerfOperation::send:
    case PerfOperation::put_with_signal:
        return "half round trip";
    case PerfOperation::put:
        return "put and flush: until it is visible";
    default:
        return "until the value is here";
    }
}

int run(const Perf& perf, const Options& options) {
    static_cast<void>(largest_size(perf)); // wrong usage is said before anything is waited for
    static_cast<void>(memory_choice_of(perf.memory));
    const Role role = role_of(perf.pair, settings_of(options));
    if (role == Role::launch) return launch_pair(options);
    Session session(pair_settings(role, perf.pair, options,
                                  portable_arguments(options.arguments, {"-p", "--tcp-port", "--color", "--memory"})),
                    options.verbosity);
    session.agree(parameters_of(perf));
    const bool is_initiator = role == Role::connect || (role == Role::member && session.runtime().rank() == 0);
    Output output("perf", options.json, options.color);
    if (is_initiator) {
        Record parameters{"parameters", session.description()};
        parameters.fields.push_back(word("memory", "memory", memory_note(memory_choice_of(perf.memory))));
        parameters.fields.push_back(word("operation", "operation", perf.operation));
        if (perf_operation(perf.operation) != PerfOperation::send) {
            const ChannelInfo channel = session.peer().describe();
            parameters.fields.push_back(word("remote_access", "put and get by", channel.remote_access));
            parameters.fields.push_back(word("atomics", "atomics by", channel.atomics));
            parameters.fields.push_back(word("ordering", "ordering", std::string(name(channel.ordering))));
        }
        parameters.fields.push_back(word("latency", "latency", latency_note(perf_operation(perf.operation))));
        parameters.fields.push_back(word("units", "units", "MB = 10^6 bytes, Gb = 10^9 bits"));
        output.block(parameters);
    }
    measure(session, perf, is_initiator, output);
    session.meet();
    if (role == Role::listen) notice("done; the other end has printed the results");
    return done;
}

} // namespace

Run add_perf(CLI::App& command) {
    auto perf = std::make_shared<Perf>();
    add_pair_options(command, perf->pair, true);
    command
        .add_option("-t,--test", perf->test_names,
                    "latency, bandwidth, bidirectional, rate; a list with commas [latency,bandwidth]")
        ->type_name("TEST");
    command.add_option("--op", perf->operation, "send, put, put_with_signal, get, fetch_add, compare_and_swap [send]")
        ->type_name("OPERATION");
    command.add_option("-s,--size", perf->sizes, "message size, or a sweep by 2 [8:16MiB; rate: 8]")
        ->type_name("BYTES[:BYTES]");
    command.add_option("-n,--iterations", perf->iterations, "round trips or messages a size [by size]")
        ->check(CLI::PositiveNumber.description(""))
        ->type_name("N");
    CLI::Option* warmup = command.add_option("--warmup", perf->warmup, "untimed ones before them [a tenth, 2 to 100]")
                              ->check(CLI::Range(0, 1 << 30).description(""))
                              ->type_name("N");
    command.add_option("-w,--window", perf->window, "messages on their way in bandwidth and rate; at least 1 [64]")
        ->check(CLI::Range(1, 65536).description(""))
        ->type_name("N");
    command.add_option("--memory", perf->memory, "memory of this end: host, pinned, cuda[:N], managed[:N] [host]")
        ->type_name("KIND");
    return [perf, warmup](const Options& options) {
        perf->has_warmup = warmup->count() != 0;
        return run(*perf, options);
    };
}

} // namespace verbena::tools
