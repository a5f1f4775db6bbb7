/// @file
/// A lab report as text: a line a step, the ledgers one below the other.
#pragma once

#include <string>

#include <verbena/lab.hpp>

namespace verbena::tools {

/// Lines without a trailing newline; failures are red where `color`.
[[nodiscard]] std::string lab_text(const lab::Report& report, bool color);

} // namespace verbena::tools
