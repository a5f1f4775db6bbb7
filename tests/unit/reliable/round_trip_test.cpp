#include "catch.hpp"

#include "reliable/round_trip.hpp"

using namespace verbena::reliable;

TEST_CASE("the time-out follows the round trips, within its bounds") {
    RoundTrip round_trip;
    CHECK(round_trip.timeout(0) == RoundTrip::initial);
    for (int i = 0; i < 100; ++i) round_trip.sample(10'000'000);
    CHECK(round_trip.smoothed() == 10'000'000);
    CHECK(round_trip.timeout(0) >= 10'000'000);
    CHECK(round_trip.timeout(0) < 11'000'000);
    for (int i = 0; i < 100; ++i) round_trip.sample(i % 2 == 0 ? 5'000'000 : 15'000'000);
    CHECK(round_trip.timeout(0) > 20'000'000); // what varies is waited for longer
    for (int i = 0; i < 200; ++i) round_trip.sample(1000);
    CHECK(round_trip.timeout(0) == RoundTrip::shortest);
}

TEST_CASE("each silence doubles the time-out, up to a limit") {
    RoundTrip round_trip;
    round_trip.sample(1'000'000);
    CHECK(round_trip.timeout(1) == 2 * round_trip.timeout(0));
    CHECK(round_trip.timeout(3) == 8 * round_trip.timeout(0));
    CHECK(round_trip.timeout(60) == 64 * round_trip.timeout(0));
    for (int i = 0; i < 100; ++i) round_trip.sample(900'000'000);
    CHECK(round_trip.timeout(60) == RoundTrip::longest);
}
