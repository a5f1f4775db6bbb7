/// @file
/// A job of several processes of this machine, each with a Runtime, for what only whole processes show.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include <verbena/runtime.hpp>

namespace verbena::testing {

/// Forks `ranks` processes; each runs `body` and ends. Returns what went wrong, a line each: an exception, a body's
/// complaint, an end by another signal than SIGKILL, which a body may raise to die. Empty: nothing did. Start no thread
/// before it.
[[nodiscard]] std::string run_ranks(std::uint32_t ranks, const std::function<std::string(Runtime&)>& body,
                                    const std::function<void(Settings&)>& change = {});

} // namespace verbena::testing
