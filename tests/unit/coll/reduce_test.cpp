#include "catch.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "coll/reduce.hpp"

using namespace verbena;

namespace {

constexpr ReduceOp all_ops[] = {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max, ReduceOp::avg};

__extension__ using Signed = __int128;
__extension__ using Unsigned = unsigned __int128;

/// The reference computes in these: exact for integers up to the wrap, more bits than the type for floats.
template <class T>
using Reference = std::conditional_t<std::is_floating_point_v<T>, long double,
                                     std::conditional_t<std::is_signed_v<T>, Signed, Unsigned>>;

template <class T>
Reference<T> apply(ReduceOp op, Reference<T> a, Reference<T> b) {
    switch (op) {
    case ReduceOp::sum:
    case ReduceOp::avg:
        a = a + b;
        break;
    case ReduceOp::prod:
        a = a * b;
        break;
    case ReduceOp::min:
        return std::min(a, b);
    case ReduceOp::max:
        return std::max(a, b);
    }
    if constexpr (std::is_integral_v<T>) return static_cast<T>(a); // wraps at every step
    return a;
}

/// Near what the reference says: equal for integers, within rounding of `inputs` operations for floats.
template <class T>
bool agrees(T value, Reference<T> expected, Reference<T> magnitude, std::size_t inputs) {
    if constexpr (std::is_integral_v<T>) {
        return value == static_cast<T>(expected);
    } else {
        const auto rounding =
            static_cast<long double>(std::numeric_limits<T>::epsilon()) * static_cast<long double>(inputs);
        return std::fabs(static_cast<long double>(value) - expected) <= magnitude * rounding;
    }
}

template <class T>
T random_value(std::mt19937_64& random) {
    if constexpr (std::is_floating_point_v<T>)
        return static_cast<T>(std::uniform_real_distribution<double>(-2, 2)(random));
    return static_cast<T>(random());
}

/// Values at a chosen alignment, with a guard behind them.
template <class T>
class Memory {
  public:
    Memory(std::size_t count, std::size_t misalignment)
        : count_(count), storage_(count * sizeof(T) + 128, std::byte{0x5a}) {
        const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
        offset_ = (64 - address % 64) % 64 + misalignment;
    }
    std::byte* data() { return storage_.data() + offset_; }
    T get(std::size_t i) {
        T value;
        std::memcpy(&value, data() + i * sizeof(T), sizeof(T));
        return value;
    }
    void set(std::size_t i, T value) { std::memcpy(data() + i * sizeof(T), &value, sizeof(T)); }
    bool is_guard_whole() {
        for (std::byte* at = data() + count_ * sizeof(T); at != storage_.data() + storage_.size(); ++at) {
            if (*at != std::byte{0x5a}) return false;
        }
        for (std::byte* at = storage_.data(); at != data(); ++at) {
            if (*at != std::byte{0x5a}) return false;
        }
        return true;
    }

  private:
    std::size_t count_;
    std::vector<std::byte> storage_;
    std::size_t offset_ = 0;
};

/// Reduces random inputs and counts the elements that disagree with the reference.
template <class T>
std::size_t wrong_elements(ReduceOp op, std::size_t inputs, std::size_t count, std::size_t misalignment, bool in_place,
                           std::mt19937_64& random) {
    std::vector<Memory<T>> memory;
    std::vector<const std::byte*> pointers;
    memory.reserve(inputs);
    for (std::size_t k = 0; k < inputs; ++k) {
        memory.emplace_back(count, (misalignment + 3 * k) % 16);
        for (std::size_t i = 0; i < count; ++i) memory[k].set(i, random_value<T>(random));
        pointers.push_back(memory[k].data());
    }
    std::vector<Reference<T>> expected;
    std::vector<Reference<T>> magnitude;
    for (std::size_t i = 0; i < count; ++i) {
        auto value = static_cast<Reference<T>>(memory[0].get(i));
        Reference<T> size = value < 0 ? -value : value;
        for (std::size_t k = 1; k < inputs; ++k) {
            const auto next = static_cast<Reference<T>>(memory[k].get(i));
            value = apply<T>(op, value, next);
            if constexpr (std::is_floating_point_v<T>)
                size = op == ReduceOp::prod ? std::fabs(value) : size + std::fabs(next);
        }
        expected.push_back(value);
        magnitude.push_back(size);
    }
    Memory<T> apart(count, misalignment);
    Memory<T>& output = in_place ? memory[random() % inputs] : apart;
    coll::reduce(DataTypeOf<T>::value, op, output.data(), pointers, count);
    std::size_t wrong = output.is_guard_whole() ? 0 : 1;
    for (std::size_t i = 0; i < count; ++i) wrong += agrees(output.get(i), expected[i], magnitude[i], inputs) ? 0 : 1;
    return wrong;
}

} // namespace

TEMPLATE_TEST_CASE("every operation agrees with a scalar reference at every alignment and tail", "", std::int8_t,
                   std::uint8_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, float, double) {
    const std::uint64_t seed = std::random_device{}();
    std::mt19937_64 random(seed);
    for (const ReduceOp op : all_ops) {
        for (std::size_t misalignment = 0; misalignment < 16; ++misalignment) {
            for (std::size_t count = 0; count <= 40; ++count) {
                for (const bool in_place : {false, true}) {
                    INFO(name(op) << ", " << count << " elements at " << misalignment << ", in place " << in_place
                                  << ", seed " << seed);
                    REQUIRE(wrong_elements<TestType>(op, 2, count, misalignment, in_place, random) == 0);
                }
            }
        }
    }
}

TEMPLATE_TEST_CASE("two to sixteen inputs reduce at once, longer than one block, in place on any of them", "",
                   std::int8_t, std::uint8_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, float, double) {
    const std::uint64_t seed = std::random_device{}();
    std::mt19937_64 random(seed);
    for (const ReduceOp op : all_ops) {
        for (std::size_t inputs = 2; inputs <= coll::max_reduce_inputs; ++inputs) {
            for (const bool in_place : {false, true}) {
                const std::size_t count = 4096 / sizeof(TestType) * 2 + random() % 100;
                INFO(name(op) << ", " << inputs << " inputs of " << count << ", in place " << in_place << ", seed "
                              << seed);
                REQUIRE(wrong_elements<TestType>(op, inputs, count, random() % 16, in_place, random) == 0);
            }
        }
    }
}

TEMPLATE_TEST_CASE("min and max give NaN when any input is NaN, wherever it stands", "", float, double) {
    const TestType nan = std::numeric_limits<TestType>::quiet_NaN();
    const ReduceOp op = GENERATE(ReduceOp::min, ReduceOp::max);
    for (std::size_t inputs = 2; inputs <= 4; ++inputs) {
        for (std::size_t where = 0; where < inputs; ++where) {
            std::vector<std::vector<TestType>> values(inputs, std::vector<TestType>(9, TestType{1}));
            values[where].assign(9, nan);
            std::vector<const std::byte*> pointers;
            for (const auto& each : values) pointers.push_back(reinterpret_cast<const std::byte*>(each.data()));
            std::vector<TestType> output(9);
            coll::reduce(DataTypeOf<TestType>::value, op, reinterpret_cast<std::byte*>(output.data()), pointers, 9);
            for (const TestType value : output) CHECK(std::isnan(value));
        }
    }
}

TEST_CASE("of two zeros of different sign min and max give the later operand") {
    const ReduceOp op = GENERATE(ReduceOp::min, ReduceOp::max);
    const float plus = 0.0F;
    const float minus = -0.0F;
    float output = 1;
    const std::byte* inputs[] = {reinterpret_cast<const std::byte*>(&plus), reinterpret_cast<const std::byte*>(&minus)};
    coll::reduce(DataType::f32, op, reinterpret_cast<std::byte*>(&output), inputs, 1);
    CHECK(std::signbit(output));
    std::swap(inputs[0], inputs[1]);
    coll::reduce(DataType::f32, op, reinterpret_cast<std::byte*>(&output), inputs, 1);
    CHECK_FALSE(std::signbit(output));
}

TEMPLATE_TEST_CASE("an average divides once, integers toward zero, by any number of ranks", "", std::int8_t,
                   std::uint8_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, float, double) {
    const auto ranks = GENERATE(std::uint32_t{1}, std::uint32_t{2}, std::uint32_t{3}, std::uint32_t{300});
    const std::vector<TestType> sums = {TestType{0},
                                        TestType{1},
                                        TestType{7},
                                        static_cast<TestType>(-7),
                                        TestType{100},
                                        std::numeric_limits<TestType>::max(),
                                        std::numeric_limits<TestType>::lowest()};
    std::vector<TestType> values = sums;
    coll::finish(DataTypeOf<TestType>::value, ReduceOp::avg, reinterpret_cast<std::byte*>(values.data()), values.size(),
                 ranks);
    for (std::size_t i = 0; i < sums.size(); ++i) {
        const auto expected =
            static_cast<TestType>(static_cast<Reference<TestType>>(sums[i]) / static_cast<Reference<TestType>>(ranks));
        CHECK(values[i] == expected);
    }
    values = sums;
    coll::finish(DataTypeOf<TestType>::value, ReduceOp::sum, reinterpret_cast<std::byte*>(values.data()), values.size(),
                 ranks);
    CHECK(values == sums);
}

TEST_CASE("every f16 survives f32 and back, and lies where the format says") {
    for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
        const Float16 value{static_cast<std::uint16_t>(bits)};
        const int exponent = static_cast<int>(bits >> 10 & 31);
        const double fraction = (bits & 1023) / 1024.0;
        const double sign = bits >> 15 != 0 ? -1 : 1;
        const double number = to_float(value);
        CAPTURE(bits);
        if (exponent == 31 && fraction != 0) {
            CHECK(std::isnan(number));
            CHECK(std::signbit(number) == (sign < 0));
            CHECK((to_float16(to_float(value)).bits & 0x7e00) == 0x7e00);
            continue;
        }
        if (exponent == 31)
            CHECK(number == sign * std::numeric_limits<double>::infinity());
        else
            CHECK(number ==
                  sign * (exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1 + fraction, exponent - 15)));
        CHECK(std::signbit(number) == (sign < 0));
        CHECK(to_float16(to_float(value)).bits == bits);
    }
}

namespace {

/// The nearest of the type's values, ties to the even one, found by bisection over all of them: another way than that
/// of the code. For finite, positive values up to the type's largest.
template <class T>
std::uint16_t nearest(double value, std::uint16_t largest) {
    std::uint16_t low = 0;
    std::uint16_t high = largest;
    while (high - low > 1) {
        const auto middle = static_cast<std::uint16_t>((low + high) / 2);
        (static_cast<double>(to_float(T{middle})) <= value ? low : high) = middle;
    }
    const double below = value - static_cast<double>(to_float(T{low}));
    const double above = static_cast<double>(to_float(T{high})) - value;
    if (below == above) return low % 2 == 0 ? low : high;
    return below < above ? low : high;
}

} // namespace

TEST_CASE("rounding to 16 bits takes the nearest value, ties to even") {
    const std::uint64_t seed = std::random_device{}();
    std::mt19937_64 random(seed);
    INFO("seed " << seed);
    for (int i = 0; i < 100'000; ++i) {
        const float value = std::ldexp(std::uniform_real_distribution<float>(1, 2)(random),
                                       static_cast<int>(random() % 41) - 26); // from below the least f16 to 2^15
        CAPTURE(value);
        CHECK(to_float16(value).bits == nearest<Float16>(static_cast<double>(value), 0x7bff));
        CHECK(to_float16(-value).bits == (to_float16(value).bits | 0x8000));
        CHECK(to_bfloat16(value).bits == nearest<Bfloat16>(static_cast<double>(value), 0x7f7f));
    }
    for (std::uint16_t bits = 0; bits < 0x7bff; ++bits) { // halfway between neighbours, subnormals included
        const float lower = to_float(Float16{bits});
        const float upper = to_float(Float16{static_cast<std::uint16_t>(bits + 1)});
        CHECK(to_float16((lower + upper) / 2).bits == (bits % 2 == 0 ? bits : bits + 1));
    }
}

TEST_CASE("16-bit floats go to infinity beyond their range, and NaN stays NaN") {
    const float infinity = std::numeric_limits<float>::infinity();
    const float largest = std::numeric_limits<float>::max();
    CHECK(to_float16(65504).bits == 0x7bff);
    CHECK(to_float16(65519.996F).bits == 0x7bff);
    CHECK(to_float16(65520).bits == 0x7c00); // halfway to 2^16
    CHECK(to_float16(largest).bits == 0x7c00);
    CHECK(to_float16(-infinity).bits == 0xfc00);
    CHECK(to_bfloat16(largest).bits == 0x7f80);
    CHECK(to_bfloat16(-infinity).bits == 0xff80);
    const float quiet = std::bit_cast<float>(0x7f800001u); // whose upper half alone would be an infinity
    CHECK(to_float16(quiet).bits == 0x7e00);
    CHECK(std::isnan(to_float(to_bfloat16(quiet))));
    CHECK(std::isnan(to_float(to_float16(-std::numeric_limits<float>::quiet_NaN()))));
}

TEMPLATE_TEST_CASE("16-bit floats are reduced in f32 and rounded once, in place or not", "", Float16, Bfloat16) {
    const std::uint64_t seed = std::random_device{}();
    std::mt19937_64 random(seed);
    const auto rounded = [](float value) {
        if constexpr (std::is_same_v<TestType, Float16>)
            return to_float16(value);
        else
            return to_bfloat16(value);
    };
    for (const ReduceOp op : all_ops) {
        for (const std::size_t inputs : {2u, 3u, 7u, 16u}) {
            const std::size_t count = 1 + random() % 3000;
            INFO(name(op) << ", " << inputs << " inputs of " << count << ", seed " << seed);
            std::vector<std::vector<TestType>> values(inputs, std::vector<TestType>(count));
            std::vector<const std::byte*> pointers;
            for (auto& each : values) {
                for (TestType& value : each) value = rounded(std::uniform_real_distribution<float>(-2, 2)(random));
                pointers.push_back(reinterpret_cast<const std::byte*>(each.data()));
            }
            std::vector<float> expected(count);
            std::vector<double> exact(count);
            std::vector<double> magnitude(count);
            for (std::size_t i = 0; i < count; ++i) {
                expected[i] = to_float(values[0][i]);
                exact[i] = static_cast<double>(expected[i]);
                magnitude[i] = std::fabs(exact[i]);
                for (std::size_t k = 1; k < inputs; ++k) {
                    const float next = to_float(values[k][i]);
                    expected[i] = op == ReduceOp::prod  ? expected[i] * next
                                  : op == ReduceOp::min ? std::min(expected[i], next)
                                  : op == ReduceOp::max ? std::max(expected[i], next)
                                                        : expected[i] + next;
                    exact[i] = static_cast<double>(apply<double>(op, exact[i], static_cast<double>(next)));
                    magnitude[i] = op == ReduceOp::prod ? std::fabs(exact[i])
                                                        : magnitude[i] + std::fabs(static_cast<double>(next));
                }
            }
            std::vector<TestType> apart(count);
            std::vector<TestType>& output = random() % 2 == 0 ? apart : values[random() % inputs];
            coll::reduce(DataTypeOf<TestType>::value, op, reinterpret_cast<std::byte*>(output.data()), pointers, count);
            constexpr double last_place = std::is_same_v<TestType, Float16> ? 0x1p-11 : 0x1p-8; // half of one
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < count; ++i) {
                const double error = std::fabs(static_cast<double>(to_float(output[i])) - exact[i]);
                const double allowed = std::fabs(exact[i]) * last_place + magnitude[i] * 0x1p-19 + 0x1p-25;
                wrong += output[i].bits != rounded(expected[i]).bits || error > allowed ? 1 : 0;
            }
            CHECK(wrong == 0);
        }
    }
}

TEMPLATE_TEST_CASE("16-bit floats follow f32 in NaN, infinity and averages", "", Float16, Bfloat16) {
    const auto bits_of = [](float value) {
        if constexpr (std::is_same_v<TestType, Float16>)
            return to_float16(value);
        else
            return to_bfloat16(value);
    };
    const auto of_two = [&](ReduceOp op, float left, float right) {
        const TestType a = bits_of(left);
        const TestType b = bits_of(right);
        TestType output;
        const std::byte* inputs[] = {reinterpret_cast<const std::byte*>(&a), reinterpret_cast<const std::byte*>(&b)};
        coll::reduce(DataTypeOf<TestType>::value, op, reinterpret_cast<std::byte*>(&output), inputs, 1);
        return to_float(output);
    };
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float infinity = std::numeric_limits<float>::infinity();
    for (const ReduceOp op : all_ops) {
        CHECK(std::isnan(of_two(op, nan, 1)));
        CHECK(std::isnan(of_two(op, 1, nan)));
    }
    CHECK(of_two(ReduceOp::sum, infinity, -1) == infinity);
    CHECK(std::isnan(of_two(ReduceOp::sum, infinity, -infinity)));
    const float largest = std::is_same_v<TestType, Float16> ? 65504.0F : 0x1.fep127F;
    CHECK(of_two(ReduceOp::sum, largest, largest) == infinity);
    CHECK(of_two(ReduceOp::max, largest, -infinity) == largest);

    TestType average = bits_of(7);
    coll::finish(DataTypeOf<TestType>::value, ReduceOp::avg, reinterpret_cast<std::byte*>(&average), 1, 3);
    CHECK(average.bits == bits_of(7.0F / 3).bits);
}
