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
        break;
    }
    return work(double{});
}

std::uint64_t entropy(const Reduction& reduction, std::uint32_t rank, std::size_t index) {
    return mixed(index + mixed(rank + (reduction.iteration << 32) + 1));
}

/// Floating point: every partial result is exact in any order. Sums of whole numbers below 2^10 stay exact in f32 for
/// up to 2^14 ranks; products take powers of two whose exponents rise and fall.
template <class T>
T floating_value(const Reduction& reduction, std::uint32_t rank, std::uint64_t random) {
    if (reduction.op != ReduceOp::prod) return static_cast<T>(static_cast<std::int64_t>(random % 2047) - 1023);
    const T magnitude = (rank + random) % 2 == 0 ? T(1) : (rank % 4 < 2 ? T(2) : T(0.5));
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
T input_value(const Reduction& reduction, std::uint32_t rank, std::size_t index) {
    const std::uint64_t random = entropy(reduction, rank, index);
    if constexpr (std::is_floating_point_v<T>)
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
T expected_value(const Reduction& reduction, std::size_t index) {
    T result = input_value<T>(reduction, 0, index);
    for (std::uint32_t rank = 1; rank < reduction.ranks; ++rank) {
        result = combined(reduction.op, result, input_value<T>(reduction, rank, index));
    }
    return reduction.op == ReduceOp::avg ? divided(result, reduction.ranks) : result;
}

template <class T>
bool is_right(const Reduction& reduction, T expected, T got) {
    if constexpr (std::is_floating_point_v<T>) {
        if (reduction.op == ReduceOp::avg) {
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
            const T value = input_value<T>(reduction, rank, index);
            std::memcpy(memory.data() + index * sizeof(T), &value, sizeof(T));
        }
    });
}

std::optional<WrongElements> find_wrong_elements(std::span<const std::byte> memory, const Reduction& reduction) {
    return with_type(reduction.type, [&](auto zero) {
        using T = decltype(zero);
        WrongElements wrong;
        for (std::size_t index = 0; index < memory.size() / sizeof(T); ++index) {
            T got;
            std::memcpy(&got, memory.data() + index * sizeof(T), sizeof(T));
            const T expected = expected_value<T>(reduction, index);
            if (is_right(reduction, expected, got)) continue;
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
