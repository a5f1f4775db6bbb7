/// @file
/// The subcommands: each adds itself to the program and gives what runs it.
#pragma once

#include <functional>

#include "options.hpp"

namespace verbena::tools {

/// Runs a parsed command. @returns an exit status. @throws Error, Interrupted
using Run = std::function<int(const Options&)>;

[[nodiscard]] Run add_info(CLI::App& command);
[[nodiscard]] Run add_ping(CLI::App& command);
[[nodiscard]] Run add_perf(CLI::App& command);
[[nodiscard]] Run add_coll(CLI::App& command);
[[nodiscard]] Run add_send(CLI::App& command);
[[nodiscard]] Run add_receive(CLI::App& command);
[[nodiscard]] Run add_qp(CLI::App& command);
[[nodiscard]] Run add_order_check(CLI::App& command);
[[nodiscard]] Run add_run(CLI::App& command);

/// Cuts the program that follows the command `runner` off from `options.arguments`: its options are not ours to read.
void split_program(const CLI::App& app, const std::string& runner, Options& options);

} // namespace verbena::tools
