/// @file
/// Catch2 2.13 (Debian 12) and 3.x (Ubuntu 24.04) under one include.
#pragma once

#if VERBENA_CATCH2_MAJOR >= 3
#include <catch2/catch_all.hpp>
#define VERBENA_CONTAINS(text) Catch::Matchers::ContainsSubstring(text)
#define VERBENA_LEAVE_SKIPPED(reason) SKIP(reason)
using Catch::Approx; // as version 2 has it
#else
#include <catch2/catch.hpp>
#define VERBENA_CONTAINS(text) Catch::Matchers::Contains(text)
#define VERBENA_LEAVE_SKIPPED(reason) return
#endif

#include <sstream>
#include <string>

namespace verbena::testing {

/// Prints the reason and has main count the case as skipped.
void note_skip(const std::string& reason);

} // namespace verbena::testing

/// Leaves the test case (a function of type void) as skipped. `reason` may be streamed: "needs " << what.
#define VERBENA_SKIP(reason)                                                                                           \
    do {                                                                                                               \
        std::ostringstream verbena_skip_text;                                                                          \
        verbena_skip_text << reason;                                                                                   \
        verbena::testing::note_skip(verbena_skip_text.str());                                                          \
        VERBENA_LEAVE_SKIPPED(verbena_skip_text.str());                                                                \
    } while (false)
