#include "catch.hpp"

#include <algorithm>
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
