/// `verbena run`: a program as several ranks on this machine.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>

#include <CLI/CLI.hpp>
#include <verbena/error.hpp>

#include "command.hpp"
#include "launch.hpp"

namespace verbena::tools {
namespace {

/// True when the option's value is the argument after it.
bool takes_next(const CLI::App& app, const std::string& argument) {
    const bool is_attached = argument.find('=') != std::string::npos || (argument[1] != '-' && argument.size() > 2);
    const CLI::Option* option = is_attached ? nullptr : app.get_option_no_throw(argument);
    return option != nullptr && option->get_items_expected_max() > 0;
}

/// Settings given as options reach the ranks as variables, as everything else does: never through their arguments.
void export_settings(const Options& options) {
    for (const auto& [name, value] : options.settings) {
        std::string variable = "VERBENA_" + name;
        std::replace(variable.begin(), variable.end(), '-', '_');
        std::transform(variable.begin(), variable.end(), variable.begin(),
                       [](unsigned char c) { return std::toupper(c); });
        setenv(variable.c_str(), value.c_str(), 1);
    }
}

} // namespace

void split_program(const CLI::App& app, const std::string& runner, Options& options) {
    const CLI::App* scope = &app;
    auto& arguments = options.arguments;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& argument = arguments[i];
        const bool is_option = argument.size() > 1 && argument[0] == '-' && argument != "--";
        if (is_option) {
            if (takes_next(*scope, argument) || takes_next(app, argument)) ++i;
        } else if (scope == &app) {
            if (argument != runner) return; // another command: all of it is ours
            scope = app.get_subcommand(runner);
        } else {
            const auto first = arguments.begin() + static_cast<std::ptrdiff_t>(i);
            options.program.assign(first + (argument == "--" ? 1 : 0), arguments.end());
            arguments.erase(first, arguments.end());
            return;
        }
    }
}

Run add_run(CLI::App& command) {
    auto ranks = std::make_shared<std::uint32_t>(2);
    command.add_option("-n,--ranks", *ranks, "number of ranks [2]")
        ->check(CLI::Range(1, 4096).description(""))
        ->type_name("N");
    command.footer("What follows is the program, run by every rank: verbena run -n 4 -- ./program its arguments\n"
                   "Settings given here reach it as VERBENA_ variables. More: `verbena --help`, `man verbena`.");
    return [ranks](const Options& options) {
        if (options.program.empty()) {
            throw Error(ErrorCode::invalid_argument, "no program is given to run",
                        "verbena run -n 4 -- ./program its arguments");
        }
        static_cast<void>(settings_of(options)); // a bad value is said once, here, and not by every rank
        export_settings(options);
        return launch({.ranks = *ranks, .command = options.program});
    };
}

} // namespace verbena::tools
