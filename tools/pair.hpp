/// @file
/// How the two ends of `ping`, `perf`, `send` and `receive` find each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "options.hpp"

namespace verbena::tools {

inline constexpr std::uint16_t default_tcp_port = 18515;

struct PairOptions {
    std::string host; ///< empty: listen
    std::uint16_t tcp_port = default_tcp_port;
    bool local = false;
};

enum class Role : std::uint8_t {
    listen,  ///< rank 0 of two; the store is here
    connect, ///< rank 1
    member,  ///< a launcher has said which rank this is
    launch,  ///< start both ends on this machine
};

void add_pair_options(CLI::App& command, PairOptions& pair, bool with_local);

/// @throws Error (invalid_argument) for a contradiction.
[[nodiscard]] Role role_of(const PairOptions& pair, const Settings& settings);

/// Settings of a listening end. `address` is one of this machine that the other end can reach, `secret` is used where
/// the settings name none.
[[nodiscard]] Settings listening(Settings settings, const PairOptions& pair, const std::string& address,
                                 const std::string& secret);
[[nodiscard]] Settings connecting(Settings settings, const PairOptions& pair);

/// "[fd00::2]:18515", "10.0.0.1:18515".
[[nodiscard]] std::string host_and_port(const std::string& host, std::uint16_t port);

/// Does what the role asks for before a Runtime can be made: says on stderr how to start the other end.
/// @param other_command arguments of `verbena` at the other end, without the host.
[[nodiscard]] Settings pair_settings(Role role, const PairOptions& pair, const Options& options,
                                     const std::vector<std::string>& other_command);

/// The same command again, as both ranks of a job on this machine. @returns its exit status.
[[nodiscard]] int launch_pair(const Options& options);

} // namespace verbena::tools
