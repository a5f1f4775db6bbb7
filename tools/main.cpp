/// The `verbena` command: parses, runs one subcommand, and turns every error into a sentence and an exit status.
#include <array>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <verbena/version.hpp>

#include "command.hpp"
#include "interrupt.hpp"
#include "notice.hpp"

namespace verbena::tools {
namespace {

struct Entry {
    const char* name;
    const char* description;
    Run (*add)(CLI::App&);
};

constexpr std::array entries = {
    Entry{"info", "what this machine offers, what would be chosen, and why", add_info},
    Entry{"ping", "the smallest proof that two ends reach each other", add_ping},
    Entry{"perf", "latency, bandwidth and message rate between two ends", add_perf},
    Entry{"coll", "time and correctness of collectives over any number of ranks", add_coll},
    Entry{"send", "send a file to another verbena", add_send},
    Entry{"receive", "receive a file from another verbena", add_receive},
    Entry{"qp", "queue pairs: a lab that shows how they are lost and kept", add_qp},
    Entry{"order-check", "operations of a recorded trace whose order nothing decided", add_order_check},
    Entry{"run", "start a program as several ranks on this machine", add_run},
};

constexpr const char* footer =
    "Every setting is also a variable: --send-depth is VERBENA_SEND_DEPTH. An option wins over a variable, a variable\n"
    "over what a launcher says. `verbena info` shows each value and where it came from.\n"
    "Settings may stand behind any command; a command's own option of the same name (--size) goes first.\n\n"
    "Exit status: 0 done; 1 ran and found a failure; 2 wrong usage; 3 the environment lacks something that is named;\n"
    "128+n ended by signal n (130: interrupted). `verbena run` gives the status of the first rank that failed.";

int run(const Options& options, const std::string& command, const Run& work) {
    name_notices("verbena " + command, options.color);
    install_interrupt_handlers();
    try {
        return work(options);
    } catch (const Interrupted& interrupted) {
        progress("");
        return 128 + interrupted.signal;
    } catch (const Error& error) {
        report(error);
        return exit_status_of(error.code());
    } catch (const std::bad_alloc&) {
        report(Error(ErrorCode::exhausted, "the system gives no more memory", "take smaller sizes or fewer ranks"));
    } catch (const std::exception& error) {
        report(Error(ErrorCode::internal, fmt::format("unexpected: {}", error.what()), "please report it"));
        return found_failure;
    }
    return environment_lacks;
}

int parse_and_run(int argc, char** argv) {
    CLI::App app{"Messages, files and collectives over RDMA: look, try, measure.", "verbena"};
    app.require_subcommand(1);
    app.set_version_flag("--version", "verbena " VERBENA_VERSION, "print the version and exit");
    app.footer(footer);
    app.get_formatter()->column_width(32);
    Options options;
    options.arguments.assign(argv + 1, argv + argc);
    add_global_options(app, options);
    std::vector<std::pair<CLI::App*, Run>> commands;
    for (const Entry& entry : entries) {
        CLI::App* command = app.add_subcommand(entry.name, entry.description)->fallthrough();
        command->footer("Settings and exit status: `verbena --help`; more: `man verbena`.");
        commands.emplace_back(command, entry.add(*command));
    }
    split_program(app, "run", options);
    try {
        app.parse(std::vector<std::string>(options.arguments.rbegin(),
                                           options.arguments.rend())); // CLI11 takes from the back
    } catch (const CLI::Success& success) {
        return app.exit(success); // --help, --version
    } catch (const CLI::ParseError& error) {
        const auto parsed = app.get_subcommands();
        const std::string name = parsed.empty() ? "verbena" : "verbena " + parsed.front()->get_name();
        name_notices(name, options.color);
        report(Error(ErrorCode::invalid_argument, error.what(), fmt::format("`{} --help` lists what there is", name)));
        return wrong_usage;
    }
    for (const auto& [command, work] : commands) {
        if (command->parsed()) return run(options, command->get_name(), work);
    }
    return wrong_usage;
}

} // namespace
} // namespace verbena::tools

int main(int argc, char** argv) { return verbena::tools::parse_and_run(argc, argv); }
