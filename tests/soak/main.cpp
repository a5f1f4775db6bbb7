/// Runs seed after seed until the simulated NIC has executed as many operations as asked for; closes with what
/// happened. An operation is a work request that the NIC took on a send queue; receives are counted apart.
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "traffic.hpp"

namespace verbena::soak {
namespace {

struct Options {
    std::uint64_t operations = 2'000'000;
    std::uint64_t first_seed = 1;
    std::uint64_t one_seed = 0; ///< not 0: this one alone
    std::uint64_t messages = messages_of_a_seed;
    std::uint64_t processes = 1;
};

/// What a process tells at its end, through a pipe.
struct Report {
    Totals totals;
    std::uint64_t last_seed = 0;
    std::uint64_t failed_seed = 0; ///< 0: none
    std::array<char, 512> failure{};
};

std::uint64_t number(std::string_view option, const char* text) {
    std::uint64_t value = 0;
    const char* const end = text == nullptr ? nullptr : text + std::strlen(text);
    if (text == nullptr || std::from_chars(text, end, value).ptr != end || value == 0) {
        fmt::print(stderr, "soak: {} needs a whole number above 0\n", option);
        std::exit(2);
    }
    return value;
}

Options parse(char** arguments) {
    Options options;
    for (; *arguments != nullptr; arguments += 2) {
        const std::string_view option = *arguments;
        std::uint64_t* const target = option == "--operations"   ? &options.operations
                                      : option == "--first-seed" ? &options.first_seed
                                      : option == "--seed"       ? &options.one_seed
                                      : option == "--messages"   ? &options.messages
                                      : option == "--processes"  ? &options.processes
                                                                 : nullptr;
        if (target == nullptr) {
            fmt::print(stderr,
                       "usage: soak [--operations N] [--first-seed N] [--processes N] [--messages N] [--seed N]\n");
            std::exit(2);
        }
        *target = number(option, arguments[1]);
    }
    return options;
}

/// Seeds first, first + step, ... up to a failure or so many operations.
Report run_seeds(const Options& options, std::uint64_t first, std::uint64_t step, std::uint64_t operations) {
    Report report;
    auto told = std::chrono::steady_clock::now();
    for (std::uint64_t seed = first; report.totals.nic.requests < operations; seed += step) {
        const Outcome outcome = run(seed, options.messages);
        report.totals.add(outcome.totals);
        report.last_seed = seed;
        if (!outcome.failure.empty()) {
            report.failed_seed = seed;
            outcome.failure.copy(report.failure.data(), report.failure.size() - 1);
            break;
        }
        const auto now = std::chrono::steady_clock::now();
        if (now - told > std::chrono::minutes(1) && options.processes == 1) {
            fmt::print(stderr, "soak: {} operations, seed {}\n", report.totals.nic.requests, seed);
            told = now;
        }
    }
    return report;
}

std::vector<Report> run_all(const Options& options) {
    if (options.processes == 1) return {run_seeds(options, options.first_seed, 1, options.operations)};
    std::vector<int> ends;
    for (std::uint64_t i = 0; i < options.processes; ++i) {
        int pipe_ends[2];
        if (pipe(pipe_ends) != 0) std::exit(3);
        if (fork() == 0) {
            const Report report =
                run_seeds(options, options.first_seed + i, options.processes, options.operations / options.processes);
            _exit(write(pipe_ends[1], &report, sizeof report) == sizeof report ? 0 : 3);
        }
        close(pipe_ends[1]);
        ends.push_back(pipe_ends[0]);
    }
    std::vector<Report> reports;
    for (const int end : ends) {
        Report report;
        // A process that crashed says nothing; its seeds are not known then.
        if (read(end, &report, sizeof report) != sizeof report) {
            report.failed_seed = options.first_seed;
            std::strcpy(report.failure.data(), "a process of the soak crashed; run with --processes 1 to see where");
        }
        reports.push_back(report);
        close(end);
    }
    while (wait(nullptr) > 0) {
    }
    return reports;
}

/// Halves the messages for as long as the seed still fails.
std::uint64_t fewest_messages(std::uint64_t seed, std::uint64_t messages) {
    while (messages > 1 && !run(seed, messages / 2).failure.empty()) messages /= 2;
    return messages;
}

std::string grouped(std::uint64_t value) {
    std::string text = std::to_string(value);
    for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ',');
    return text;
}

void print(const Totals& totals, std::uint64_t first, std::uint64_t last, double seconds) {
    const sim::Statistics& nic = totals.nic;
    const auto line = [](const char* what, std::uint64_t count) { fmt::print("{:<44}{:>18}\n", what, grouped(count)); };
    fmt::print("seeds {} to {}: {} runs, {:.0f} s, {:.0f} ns an operation\n", first, last, totals.seeds, seconds,
               seconds * 1e9 / static_cast<double>(std::max<std::uint64_t>(nic.requests, 1)));
    line("operations (send work requests)", nic.requests);
    line("receive work requests", nic.receives);
    line("messages compared", totals.messages);
    fmt::print("provoked, and survived\n");
    line("  posts refused: divergences", totals.divergences);
    line("  receive posts refused", nic.provoked_receive_refusals);
    line("  RNR NAKs with a receive posted", nic.provoked_rnr);
    line("  messages lost on the wire", nic.drops);
    line("  messages doubled on the wire", nic.duplicates);
    line("  READs and WRITEs that took effect late", nic.overtaken_fetches + nic.late_writes);
    fmt::print("of our making\n");
    line("  posts to a full queue (ENOMEM)", nic.queue_full + nic.receive_queue_full);
    line("  completion queue overruns", nic.completion_queue_overruns);
    line("  receiver not ready (RNR)", nic.receiver_not_ready);
    line("  messages lost, doubled or out of order", totals.wrong);
}

} // namespace

int main_of(char** arguments) {
    Options options = parse(arguments);
    if (options.one_seed != 0) {
        options.first_seed = options.one_seed;
        options.operations = 1;
        options.processes = 1;
    }
    const auto start = std::chrono::steady_clock::now();
    const std::vector<Report> reports = run_all(options);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    Totals totals;
    std::uint64_t last = 0;
    const Report* failed = nullptr;
    for (const Report& report : reports) {
        totals.add(report.totals);
        last = std::max(last, report.last_seed);
        const bool is_first =
            report.failed_seed != 0 && (failed == nullptr || report.failed_seed < failed->failed_seed);
        if (is_first) failed = &report;
    }
    print(totals, options.first_seed, last, seconds);
    if (failed == nullptr) return 0;
    const std::uint64_t seed = failed->failed_seed;
    fmt::print("seed {} FAILED ({}): {}\n", seed, describe(seed), failed->failure.data());
    std::fflush(stdout);
    fmt::print("again: ./dev soak --seed {} --messages {}\n", seed, fewest_messages(seed, options.messages));
    return 1;
}

} // namespace verbena::soak

int main(int, char** argv) { return verbena::soak::main_of(argv + 1); }
