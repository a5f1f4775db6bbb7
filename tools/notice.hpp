/// @file
/// What is said on stderr beside the results: notices, errors, progress.
#pragma once

#include <string>
#include <string_view>

#include <verbena/error.hpp>

#include "output.hpp"

namespace verbena::tools {

/// Exit statuses, as --help and the man page list them; 128 + n after signal n.
enum ExitStatus : int { done = 0, found_failure = 1, wrong_usage = 2, environment_lacks = 3 };

[[nodiscard]] int exit_status_of(ErrorCode code) noexcept;

/// Sets the name that starts every line, e.g. "verbena perf" or "verbena coll: rank 3", and the use of colour.
void name_notices(std::string prefix, Color color);

/// One line on stderr.
void notice(std::string_view sentence);

/// The sentence with its native cause, and the advice on a line of its own.
void report(const Error& error);

/// A line that overwrites the one before; only on a terminal. An empty one clears it.
void progress(std::string_view state);

} // namespace verbena::tools
