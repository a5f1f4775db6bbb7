#include "catch.hpp"

#include <verbena/error.hpp>
#include <verbena/settings.hpp>

using namespace verbena;
using namespace std::chrono_literals;

TEST_CASE("sizes are read in powers of 1024 in every spelling") {
    auto [text, bytes] = GENERATE(table<std::string, std::uint64_t>({{"0", 0},
                                                                     {"8", 8},
                                                                     {"8B", 8},
                                                                     {"4k", 4096},
                                                                     {"64KiB", 65536},
                                                                     {"64KB", 65536},
                                                                     {"16MiB", 16u << 20},
                                                                     {"1g", 1u << 30}}));
    CHECK(parse_bytes(text) == bytes);
}

TEST_CASE("a bad size or duration is refused with the forms that are accepted") {
    for (const char* text : {"", "x", "-1", "4.5k", "4kk", "9999999999999999999", "9000000000000000000k"}) {
        CHECK_THROWS_AS(parse_bytes(text), Error);
    }
    for (const char* text : {"", "10", "s", "1 s", "-1s", "9223372036854775807h"})
        CHECK_THROWS_AS(parse_duration(text), Error);
}

TEST_CASE("durations carry their unit") {
    CHECK(parse_duration("500us") == 500us);
    CHECK(parse_duration("10s") == 10s);
    CHECK(parse_duration("2min") == 2min);
}

TEST_CASE("every built-in value passes its own check") {
    const Settings settings;
    for (const Setting& setting : settings.all()) {
        Settings copy;
        CHECK_NOTHROW(copy.set(setting.name, setting.value));
        CHECK_FALSE(setting.description.empty());
    }
}

TEST_CASE("a setting remembers where its value came from") {
    Settings settings;
    settings.set("send-depth", "16", Source::environment, "VERBENA_SEND_DEPTH");
    CHECK(settings.number("send-depth") == 16);
    for (const Setting& setting : settings.all()) {
        if (setting.name == "send-depth") CHECK(setting.origin == "VERBENA_SEND_DEPTH");
    }
}

TEST_CASE("an unknown setting names the nearest known one") {
    Settings settings;
    try {
        settings.set("send-dept", "16");
        FAIL("accepted");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::invalid_argument);
        CHECK_THAT(error.advice(), VERBENA_CONTAINS("send-depth"));
    }
}

TEST_CASE("a value outside its bounds is refused and changes nothing") {
    Settings settings;
    CHECK_THROWS_AS(settings.set("send-depth", "0"), Error);
    CHECK_THROWS_AS(settings.set("store-external", "maybe"), Error);
    CHECK_THROWS_AS(settings.set("connect-timeout", "10"), Error);
    CHECK(settings.number("send-depth") == 128);
    CHECK_NOTHROW(settings.set("store-external", "yes"));
}
