/// @file
/// Options that every command has: each setting of the library under its own name, and how to print.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <verbena/settings.hpp>

#include "output.hpp"

namespace CLI {
class App;
}

namespace verbena::tools {

struct Options {
    bool json = false;
    int verbosity = 0;
    Color color = Color::automatic;
    std::map<std::string, std::string> settings; ///< as given on the command line; absent: not given
    std::vector<std::string> arguments;          ///< what followed the command's own name, apart from `program`
    std::vector<std::string> program;            ///< of `verbena run`: what to run
};

/// Adds them to the program; commands reach them by fall-through. `options` must outlive `app`.
void add_global_options(CLI::App& app, Options& options);

/// The environment's settings with the command line's on top. @throws Error (invalid_argument)
[[nodiscard]] Settings settings_of(const Options& options);

/// The heading under which --help lists a setting.
[[nodiscard]] std::string_view group_of(const Setting& setting);

/// The arguments without those that only mean something on this machine (its device, its addresses) or that must not
/// be seen (the secret): what the other end is to be started with. `dropped` are names of more such options, each with
/// a value, e.g. "--output".
[[nodiscard]] std::vector<std::string> portable_arguments(const std::vector<std::string>& arguments,
                                                          const std::vector<std::string>& dropped);

/// Joined to a line for a shell, quoted where needed.
[[nodiscard]] std::string shell_line(const std::vector<std::string>& arguments);

} // namespace verbena::tools
