#include "catch.hpp"

#include <numeric>
#include <vector>

#include <verbena/error.hpp>

#include "parameters.hpp"
#include "rates.hpp"
#include "sizes.hpp"
#include "statistics.hpp"

using namespace verbena;
using namespace verbena::tools;
using namespace std::chrono_literals;

TEST_CASE("a sweep holds both of its ends when the factor meets them, and never passes the last") {
    using Sizes = std::vector<std::uint64_t>;
    auto [text, factor, sizes] = GENERATE(table<std::string, std::uint64_t, Sizes>({
        {"64", 2, {64}},
        {"8:64", 2, {8, 16, 32, 64}},
        {"8:63", 2, {8, 16, 32}},
        {"1KiB:1MiB", 32, {1024, 32768, 1048576}},
        {"0:4", 2, {0, 1, 2, 4}},
        {"0", 2, {0}},
        {"4KiB:4KiB", 2, {4096}},
    }));
    CHECK(parse_sizes(text, factor) == sizes);
}

TEST_CASE("a sweep up to the largest number ends") {
    CHECK(parse_sizes("4611686018427387904:9223372036854775807").size() == 1);
}

TEST_CASE("a sweep that falls, does not grow or holds no size is refused") {
    CHECK_THROWS_AS(parse_sizes("64:8"), Error);
    CHECK_THROWS_AS(parse_sizes("8:64", 1), Error);
    for (const char* text : {"", ":", "8:", ":8", "8:16:32", "x"}) CHECK_THROWS_AS(parse_sizes(text), Error);
}

TEST_CASE("sizes are written in the largest unit that divides them") {
    CHECK(size_text(0) == "0 B");
    CHECK(size_text(1000) == "1000 B");
    CHECK(size_text(65536) == "64 KiB");
    CHECK(size_text(3u << 20) == "3 MiB");
    CHECK(size_text(1u << 30) == "1 GiB");
}

TEST_CASE("small sizes are measured often, large ones seldom, none never") {
    CHECK(default_iterations(0, 1 << 20, 20, 1000) == 1000);
    CHECK(default_iterations(8, 1 << 20, 20, 1000) == 1000);
    CHECK(default_iterations(10240, 1 << 20, 20, 1000) == 102);
    CHECK(default_iterations(1 << 30, 1 << 20, 20, 1000) == 20);
}

TEST_CASE("percentiles are samples, by nearest rank") {
    std::vector<double> sorted(1000);
    std::iota(sorted.begin(), sorted.end(), 1);
    CHECK(percentile(sorted, 50) == 500);
    CHECK(percentile(sorted, 99) == 990);
    CHECK(percentile(sorted, 99.9) == 999);
    CHECK(percentile(sorted, 100) == 1000);
    CHECK(percentile(std::vector<double>{7}, 99.9) == 7);
    CHECK(percentile(std::vector<double>{1, 2}, 50) == 1);
    CHECK(percentile(std::vector<double>{1, 2}, 51) == 2);
}

TEST_CASE("a summary sorts what it is given") {
    std::vector<double> samples = {4, 2, 9, 1, 4};
    const Summary summary = summarize(samples);
    CHECK(summary.samples == 5);
    CHECK(summary.minimum == 1);
    CHECK(summary.median == 4);
    CHECK(summary.mean == 4);
    CHECK(summary.p99 == 9);
    CHECK(summary.maximum == 9);
    CHECK(summary.deviation == Approx(2.75680975));
    CHECK(summarize({}).samples == 0);
}

TEST_CASE("rates are decimal: MB is 10^6 bytes and Gb 10^9 bits") {
    CHECK(megabytes_per_second(1'000'000, 1s) == Approx(1));
    CHECK(megabytes_per_second(1 << 20, 500ms) == Approx(2.097152));
    CHECK(gigabits_per_second(125'000'000, 1s) == Approx(1));
    CHECK(messages_per_second(3000, 1ms) == Approx(3e6));
    CHECK(algorithm_gigabytes_per_second(2'000'000'000, 1s) == Approx(2));
}

TEST_CASE("parameters survive the way to the other end") {
    Parameters parameters;
    parameters.set("sizes", "8:1MiB");
    parameters.set("name", "a = b");
    parameters.set("empty", "");
    const Parameters read = Parameters::decode(parameters.encode());
    CHECK(read.entries() == parameters.entries());
    CHECK(read.text("name") == "a = b");
    CHECK(read.text("absent").empty());
    CHECK(differences(parameters, read, "there").empty());
}

TEST_CASE("each parameter that differs or is absent at one end is named with both values") {
    Parameters here;
    here.set("size", "8:1MiB");
    here.set("iterations", "100");
    here.set("window", "64");
    Parameters other;
    other.set("size", "8:2MiB");
    other.set("iterations", "100");
    other.set("mode", "x");
    const std::vector<std::string> found = differences(here, other, "at the other end");
    REQUIRE(found.size() == 3);
    CHECK(found[0] == "size: 8:1MiB here, 8:2MiB at the other end");
    CHECK(found[1] == "window: 64 here, not given at the other end");
    CHECK(found[2] == "mode: not given here, x at the other end");
}

TEST_CASE("whatever another version sends can be read as parameters") {
    for (const char* text : {"", "\n\n", "=", "no equals sign", "=value\n", "a=b=c\n\n"})
        CHECK_NOTHROW(Parameters::decode(text));
    CHECK(Parameters::decode("a=b=c").text("a") == "b=c");
    CHECK(Parameters::decode("bare").text("bare").empty());
}
