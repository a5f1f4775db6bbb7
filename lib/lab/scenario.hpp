/// @file
/// A scenario: the same program twice, with raw verbs and with verbena. One file each plays it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "lab/bench.hpp"

namespace verbena::lab {

/// What a scenario needs from outside.
struct Stage {
    std::function<std::unique_ptr<Bench>()> bench; ///< a fresh one for each act
    std::uint32_t depth = 0;
};

/// Plays the acts of one scenario; fills Report::acts and Report::rule.
using Play = void (*)(const Stage& stage, Report& report);

void play_sq_exhaustion(const Stage& stage, Report& report);
void play_cq_overrun(const Stage& stage, Report& report);
void play_rnr(const Stage& stage, Report& report);
void play_read_write_order(const Stage& stage, Report& report);
void play_credit_starvation(const Stage& stage, Report& report);

/// The native code of a refusal: "ENOMEM (12)".
[[nodiscard]] std::string refusal_text(const wire::PostResult& result);

} // namespace verbena::lab
