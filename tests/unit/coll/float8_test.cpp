#include "catch.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <verbena/float8.hpp>

#include "coll/reduce.hpp"

using namespace verbena;

namespace {

/// What the formats are, by their definition: sign, exponent with its bias, fraction.
struct Format {
    int exponent_bits;
    int fraction_bits;
    int bias;
    double (*to_double)(std::uint8_t);
    std::uint8_t (*nearest)(float);
    double largest;
    double beyond; ///< what a value beyond the range becomes
};

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();
const Format formats[] = {{4, 3, 7, [](std::uint8_t bits) { return static_cast<double>(to_float(Float8E4m3{bits})); },
                           [](float value) { return to_float8_e4m3(value).bits; }, 448, not_a_number},
                          {5, 2, 15, [](std::uint8_t bits) { return static_cast<double>(to_float(Float8E5m2{bits})); },
                           [](float value) { return to_float8_e5m2(value).bits; }, 57344, infinity}};

bool same(double a, double b) {
    return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

/// By search among all values of the format: the nearest; of two equally near the one with an even fraction.
double nearest_by_search(const Format& format, double value) {
    if (std::isnan(value)) return not_a_number;
    const double step = std::ldexp(1, static_cast<int>(std::log2(format.largest)) - format.fraction_bits);
    const double halfway = format.largest + step / 2;
    const bool largest_is_odd = std::fmod(format.largest / step, 2) != 0;
    if (std::fabs(value) > halfway || (std::fabs(value) == halfway && largest_is_odd)) {
        return std::copysign(format.beyond, value);
    }
    double best = 0;
    double best_distance = infinity;
    for (unsigned bits = 0; bits < 0x80; ++bits) {
        const double candidate = format.to_double(static_cast<std::uint8_t>(bits));
        const double distance = std::fabs(std::fabs(value) - candidate);
        if (!std::isfinite(candidate) || distance > best_distance) continue;
        if (distance == best_distance && bits % 2 != 0) continue;
        best = candidate;
        best_distance = distance;
    }
    return std::copysign(best, value);
}

} // namespace

TEST_CASE("every 8-bit float is what its sign, exponent and fraction say, and survives f32") {
    const Format& format = formats[GENERATE(0, 1)];
    for (unsigned all = 0; all < 256; ++all) {
        const auto bits = static_cast<std::uint8_t>(all);
        const int exponent = (all >> format.fraction_bits) & ((1 << format.exponent_bits) - 1);
        const int fraction = static_cast<int>(all) & ((1 << format.fraction_bits) - 1);
        const double unit = std::ldexp(1, std::max(exponent, 1) - format.bias - format.fraction_bits);
        double expected = unit * (fraction + (exponent != 0 ? 1 << format.fraction_bits : 0));
        if (std::isnan(format.beyond) ? (all & 0x7f) == 0x7f : exponent == 31) {
            expected = std::isinf(format.beyond) && fraction == 0 ? infinity : not_a_number;
        }
        if ((all & 0x80) != 0) expected = -expected;
        CAPTURE(all, expected);
        CHECK(same(format.to_double(bits), expected));
        const std::uint8_t back = format.nearest(static_cast<float>(expected));
        if (!std::isnan(expected)) CHECK(back == bits);
        CHECK(same(format.to_double(back), expected));
    }
}

TEST_CASE("f32 becomes the nearest 8-bit float, ties to even, and what lies beyond stays visible") {
    const Format& format = formats[GENERATE(0, 1)];
    const std::uint64_t seed = std::random_device{}();
    std::mt19937_64 random(seed);
    CAPTURE(seed);
    std::vector<float> values = {0.0F, std::numeric_limits<float>::max(), std::numeric_limits<float>::infinity(),
                                 std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::quiet_NaN()};
    for (unsigned bits = 0; bits < 0x7f; ++bits) { // each, halfway to the next, and beside it
        const auto here = static_cast<float>(format.to_double(static_cast<std::uint8_t>(bits)));
        const auto next = static_cast<float>(format.to_double(static_cast<std::uint8_t>(bits + 1)));
        const float middle = std::isfinite(next) ? (here + next) / 2 : here * 1.0625F;
        for (const float each : {here, middle, std::nextafter(middle, 0.0F), std::nextafter(middle, 1e6F)})
            values.push_back(each);
    }
    for (int i = 0; i < 20000; ++i)
        values.push_back(
            std::ldexp(static_cast<float>(random() % 100000) / 65536.0F, static_cast<int>(random() % 40) - 22));
    std::size_t wrong = 0;
    for (const float value : values) {
        for (const float each : {value, -value}) {
            const double expected = nearest_by_search(format, each);
            const double got = format.to_double(format.nearest(each));
            if (same(got, expected) || (std::isnan(got) && std::isnan(expected))) continue;
            ++wrong;
            CAPTURE(each, expected, got);
            CHECK(wrong == 0);
        }
    }
}

TEST_CASE("8-bit floats add up in f32: a sum of many small values is rounded once") {
    const std::vector<Float8E4m3> big = {to_float8_e4m3(16), to_float8_e4m3(400)};
    const std::vector<Float8E4m3> small = {to_float8_e4m3(0.5F), to_float8_e4m3(400)};
    std::vector<Float8E4m3> output(2);
    std::vector<const std::byte*> inputs = {reinterpret_cast<const std::byte*>(big.data())};
    while (inputs.size() < 5) inputs.push_back(reinterpret_cast<const std::byte*>(small.data()));
    coll::reduce(DataType::f8e4m3, ReduceOp::sum, reinterpret_cast<std::byte*>(output.data()), inputs, 2);
    CHECK(to_float(output[0]) == 18.0F); // step by step each half would be lost: 16.5 rounds to 16
    CHECK(std::isnan(to_float(output[1])));
}
