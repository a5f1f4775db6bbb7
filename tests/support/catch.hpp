/// @file
/// Catch2 2.13 (Debian 12) and 3.x (Ubuntu 24.04) under one include.
#pragma once

#if VERBENA_CATCH2_MAJOR >= 3
#include <catch2/catch_all.hpp>
using Catch::Approx;
#define VERBENA_CONTAINS(text) Catch::Matchers::ContainsSubstring(text)
#define VERBENA_SKIP(reason) SKIP(reason)
#else
#include <catch2/catch.hpp>
#define VERBENA_CONTAINS(text) Catch::Matchers::Contains(text)

namespace verbena::testing {
void note_skip(); ///< main counts: a program whose every case was skipped is a skip, not a pass
}
/// Leaves the test case (a function of type void) with the reason printed.
#define VERBENA_SKIP(reason)                                                                                           \
    do {                                                                                                               \
        verbena::testing::note_skip();                                                                                 \
        WARN("skipped: " << reason);                                                                                   \
        return;                                                                                                        \
    } while (false)
#endif
