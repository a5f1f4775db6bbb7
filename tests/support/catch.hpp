/// @file
/// Catch2 2.13 (Debian 12) and 3.x (Ubuntu 24.04) under one include.
#pragma once

#if VERBENA_CATCH2_MAJOR >= 3
#include <catch2/catch_all.hpp>
using Catch::Approx;
#define VERBENA_CONTAINS(text) Catch::Matchers::ContainsSubstring(text)
#else
#include <catch2/catch.hpp>
#define VERBENA_CONTAINS(text) Catch::Matchers::Contains(text)
#endif
