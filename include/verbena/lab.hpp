/// @file
/// A lab for queue pairs: well-known ways to lose with raw verbs, run step by step, and what verbena does with the same
/// program. On the simulated NIC by default, so that a step that hardware hides can be seen and repeated.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <verbena/export.hpp>
#include <verbena/settings.hpp>

namespace verbena::lab {

struct ScenarioInfo {
    std::string_view name;       ///< "sq-exhaustion"
    std::string_view title;      ///< one line
    std::string_view depth_is;   ///< what the depth is the depth of: "slots of the send queue"
    std::uint32_t default_depth; ///< as in the story that it tells
};

[[nodiscard]] VERBENA_API std::span<const ScenarioInfo> scenarios() noexcept;

/// One step of a program: what it did, what the ledger looks like afterwards, what it saw.
struct Step {
    std::string action;
    std::string ledger; ///< a character a slot, as Act::legend says; empty where the act has none
    std::string seen;
    bool is_failure = false; ///< the program cannot go on
};

/// A program from start to end.
struct Act {
    std::string program; ///< "raw verbs", "verbena"
    std::string title;   ///< what it does
    std::string legend;  ///< of the ledger: "u unsignaled, s signaled, . free"
    std::vector<Step> steps;
    std::string outcome; ///< one sentence
    bool succeeded = false;
};

struct Report {
    std::string scenario;
    std::string title;
    std::string device; ///< as it describes itself
    std::uint32_t depth = 0;
    std::uint64_t seed = 0; ///< 0 on a real device
    std::vector<Act> acts;
    std::string rule;                     ///< why verbena does not fall into it
    std::vector<std::string> differences; ///< a real device against the model; empty where they agree
};

struct Request {
    std::string scenario;
    std::uint32_t depth = 0; ///< 0: the scenario's own
    std::uint64_t seed = 1;
};

/// Runs it on the simulated NIC; where the settings `wire` or `device` name a device, on that one, and compares.
/// @throws Error (invalid_argument) listing the scenarios there are; (unavailable) where there is no such device.
[[nodiscard]] VERBENA_API Report run(const Request& request, const Settings& settings);

} // namespace verbena::lab
