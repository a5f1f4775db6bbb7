#include "reduction_values.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include <fmt/format.h>

#include "pattern.hpp"

namespace verbena::tools {
namespace {

/// Calls `work` with a value of the element type.
template <class Work>
auto with_type(DataType type, const Work& work) {
    switch (type) {
    case DataType::i8:
        return work(std::int8_t{});
    case DataType::u8:
        return work(std::uint8_t{});
    case DataType::i32:
        return work(std::int32_t{});
    case DataType::u32:
        return work(std::uint32_t{});
    case DataType::i64:
        return work(std::int64_t{});
    case DataType::u64:
        return work(std::uint64_t{});
    case DataType::f32:
        return work(float{});
    case DataType::f64:
        return work(double{});
    case DataType::f16:
        return work(Float16{});
    case DataType::bf16:
        return work(Bfloat16{});
    case DataType::f8e4m3:
        return work(Float8E4m3{});
    case DataType::f8e5m2:
        break;
    }
    return work(Float8E5m2{});
}

std::uint64_t entropy(const Reduction& reduction, std::uint32_t rank, std::size_t index) {
    return mixed(index + mixed(rank + (reduction.iteration << 32) + 1));
}

template <class T>
constexpr bool is_8_bit_float = std::is_same_v<T, Float8E4m3> || std::is_same_v<T, Float8E5m2>;
template <class T>
constexpr bool is_short_float = std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16> || is_8_bit_float<T>;

/// What the values of an element type are computed in.
template <class T>
using Value = std::conditional_t<is_short_float<T>, float, T>;

template <class T>
T stored(Value<T> value) {
    if constexpr (std::is_same_v<T, Float16>)
        return to_float16(value);
    else if constexpr (std::is_same_v<T, Bfloat16>)
        return to_bfloat16(value);
    else if constexpr (std::is_same_v<T, Float8E4m3>)
        return to_float8_e4m3(value);
    else if constexpr (std::is_same_v<T, Float8E5m2>)
        return to_float8_e5m2(value);
    else
        return value;
}

/// Whole numbers up to here are exact.
template <class T>
constexpr std::int64_t exact_up_to = std::is_same_v<T, Float8E4m3> ? 16 : 8;

/// The whole numbers up to here, and their sums over all ranks, are exact in the type.
template <class T>
std::int64_t largest_summand(std::uint32_t ranks) {
    if constexpr (std::is_same_v<T, Float16>) return std::max<std::int64_t>(1, 2048 / ranks);
    if constexpr (std::is_same_v<T, Bfloat16>) return std::max<std::int64_t>(1, 256 / ranks);
    if constexpr (is_8_bit_float<T>) return std::max<std::int64_t>(1, exact_up_to<T> / ranks);
    return 1023; // f32: for up to 2^14 ranks
}

/// Floating point: every partial result is exact in any order. Sums are of whole numbers; products of powers of two
/// whose exponents rise and fall, and beyond rank 32 of ones, so that those of any ranks together fit f16. An 8-bit
/// float has few exact whole numbers: a rank beyond them adds zero.
template <class T>
Value<T> floating_value(const Reduction& reduction, std::uint32_t rank, std::uint64_t random) {
    using V = Value<T>;
    if (reduction.op != ReduceOp::prod) {
        if (is_8_bit_float<T> && rank >= exact_up_to<T>) return V(0);
        const std::int64_t limit = largest_summand<T>(reduction.ranks);
        return static_cast<V>(static_cast<std::int64_t>(random % static_cast<std::uint64_t>(2 * limit + 1)) - limit);
    }
    const V magnitude = rank >= 32 || (rank + random) % 2 == 0 ? V(1) : (rank % 4 < 2 ? V(2) : V(0.5));
    return (random >> 8) % 2 == 0 ? magnitude : -magnitude;
}

/// Integers wrap, so any value will do; only `avg` must not wrap before it divides.
template <class T>
T integer_value(const Reduction& reduction, std::uint64_t random) {
    if (reduction.op != ReduceOp::avg) return static_cast<T>(random);
    const auto limit = static_cast<std::uint64_t>(std::numeric_limits<T>::max()) / (reduction.ranks + 1ull);
    const auto magnitude = static_cast<T>(random % (limit + 1));
    return std::is_signed_v<T> && (random >> 63) != 0 ? static_cast<T>(-magnitude) : magnitude;
}

template <class T>
Value<T> input_value(const Reduction& reduction, std::uint32_t rank, std::size_t index) {
    const std::uint64_t random = entropy(reduction, rank, index);
    if constexpr (std::is_floating_point_v<Value<T>>)
        return floating_value<T>(reduction, rank, random);
    else
        return integer_value<T>(reduction, random);
}

template <class T>
T combined(ReduceOp op, T left, T right) {
    if (op == ReduceOp::min) return std::min(left, right);
    if (op == ReduceOp::max) return std::max(left, right);
    if constexpr (std::is_floating_point_v<T>)
        return op == ReduceOp::prod ? left * right : left + right;
    else {
        const auto a = static_cast<std::uint64_t>(left); // unsigned: wraps modulo 2^64, then to the type
        const auto b = static_cast<std::uint64_t>(right);
        return static_cast<T>(op == ReduceOp::prod ? a * b : a + b);
    }
}

/// Integers are truncated towards zero; in 64 bits, as the rank count need not fit the type.
template <class T>
T divided(T sum, std::uint32_t ranks) {
    if constexpr (std::is_floating_point_v<T>)
        return sum / static_cast<T>(ranks);
    else if constexpr (std::is_signed_v<T>)
        return static_cast<T>(std::int64_t{sum} / std::int64_t{ranks});
    else
        return static_cast<T>(std::uint64_t{sum} / ranks);
}

template <class T>
Value<T> expected_value(const Reduction& reduction, std::size_t index) {
    Value<T> result = input_value<T>(reduction, 0, index);
    for (std::uint32_t rank = 1; rank < reduction.ranks; ++rank) {
        result = combined(reduction.op, result, input_value<T>(reduction, rank, index));
    }
    return reduction.op == ReduceOp::avg ? divided(result, reduction.ranks) : result;
}

/// The value that an element stands for, for comparing and printing.
template <class T>
Value<T> loaded(T element) {
    if constexpr (is_short_float<T>)
        return to_float(element);
    else
        return element;
}

/// Averages of short floats are exact but for the last rounding, which is the same everywhere.
template <class T>
bool is_right(ReduceOp op, Value<T> expected, Value<T> got) {
    if constexpr (std::is_floating_point_v<T>) {
        if (op == ReduceOp::avg) {
            const T infinity = std::numeric_limits<T>::infinity();
            return got >= std::nextafter(expected, -infinity) && got <= std::nextafter(expected, infinity);
        }
    }
    return expected == got;
}

} // namespace

void fill_input(std::span<std::byte> memory, const Reduction& reduction, std::uint32_t rank) {
    with_type(reduction.type, [&](auto zero) {
        using T = decltype(zero);
        for (std::size_t index = 0; index < memory.size() / sizeof(T); ++index) {
            const T value = stored<T>(input_value<T>(reduction, rank, index));
            std::memcpy(memory.data() + index * sizeof(T), &value, sizeof(T));
        }
    });
}

std::optional<WrongElements> find_wrong_elements(std::span<const std::byte> memory, const Reduction& reduction,
                                                 const Source& source) {
    return with_type(reduction.type, [&](auto zero) {
        using T = decltype(zero);
        WrongElements wrong;
        for (std::size_t index = 0; index < memory.size() / sizeof(T); ++index) {
            T element;
            std::memcpy(&element, memory.data() + index * sizeof(T), sizeof(T));
            const std::size_t at = source.offset + index;
            const Value<T> got = loaded(element);
            const Value<T> expected = loaded(stored<T>(source.rank ? input_value<T>(reduction, *source.rank, at)
                                                                   : expected_value<T>(reduction, at)));
            if (is_right<T>(reduction.op, expected, got)) continue;
            if (wrong.count++ == 0) {
                wrong.first_offset = index;
                wrong.expected = fmt::format("{}", +expected);
                wrong.got = fmt::format("{}", +got);
            }
        }
        return wrong.count == 0 ? std::nullopt : std::optional(wrong);
    });
}

} // namespace verbena::tools
