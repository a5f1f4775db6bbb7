/// @file
/// Ranks as processes of this machine: `verbena run`, and every command that starts its own ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace verbena::tools {

struct Launch {
    std::uint32_t ranks = 2;
    std::vector<std::string> command; ///< program and arguments, found along PATH
    bool report_exit_status = true;   ///< false: ranks that exit say themselves why
};

/// Starts `ranks` processes with VERBENA_RANK, SIZE, LOCAL_RANK, LOCAL_SIZE, STORE and, where the environment has none,
/// a random VERBENA_SECRET; rank 0 keeps stdin unless it is a terminal. Forwards signals, waits for all, and ends the
/// rest when one fails: SIGTERM, five seconds later SIGKILL. Each rank is a process group of its own, so that its
/// children end with it.
/// @returns 0, or of the first rank that failed its exit status or 128 + signal, after a sentence on stderr.
/// @throws Error when a process cannot be started.
[[nodiscard]] int launch(const Launch& launch);

/// This very program with other arguments, for Launch::command.
[[nodiscard]] std::vector<std::string> own_command(std::vector<std::string> arguments);

/// 128 random bits in hexadecimal.
[[nodiscard]] std::string random_secret();

} // namespace verbena::tools
