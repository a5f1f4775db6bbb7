#include "coll/reduce.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <type_traits>

#include <verbena/float16.hpp>
#include <verbena/float8.hpp>

namespace verbena::coll {
namespace {

/// The type to compute in: unsigned for integers, whose overflow must wrap, and wide enough not to be promoted to int.
template <class T>
struct Wrapping {
    using type = T;
};
template <class T>
requires std::is_integral_v<T>
struct Wrapping<T> {
    using type = std::conditional_t<(sizeof(T) < sizeof(unsigned)), unsigned, std::make_unsigned_t<T>>;
};

struct Sum {
    template <class T>
    static T apply(T a, T b) noexcept {
        using W = typename Wrapping<T>::type;
        return static_cast<T>(static_cast<W>(a) + static_cast<W>(b));
    }
};
struct Product {
    template <class T>
    static T apply(T a, T b) noexcept {
        using W = typename Wrapping<T>::type;
        return static_cast<T>(static_cast<W>(a) * static_cast<W>(b));
    }
};
/// `a != a` keeps a NaN on the left; one on the right makes the comparison false and is taken as it is. The bitwise `|`
/// leaves no branch, so that the loop can be vectorised.
struct Minimum {
    template <class T>
    static T apply(T a, T b) noexcept {
        if constexpr (std::is_floating_point_v<T>) return static_cast<bool>((a < b) | (a != a)) ? a : b;
        return a < b ? a : b;
    }
};
struct Maximum {
    template <class T>
    static T apply(T a, T b) noexcept {
        if constexpr (std::is_floating_point_v<T>) return static_cast<bool>((a > b) | (a != a)) ? a : b;
        return a > b ? a : b;
    }
};

/// What an element is computed in: f32 for the 16-bit and 8-bit floats, whose processors' own arithmetic is not
/// everywhere; else the element's type.
template <class T>
T widened(T value) noexcept {
    return value;
}
inline float widened(Float16 value) noexcept { return to_float(value); }
inline float widened(Bfloat16 value) noexcept { return to_float(value); }
inline float widened(Float8E4m3 value) noexcept { return to_float(value); }
inline float widened(Float8E5m2 value) noexcept { return to_float(value); }

template <class T>
using Computed = decltype(widened(T{}));

template <class T>
T narrowed(Computed<T> value) noexcept {
    if constexpr (std::is_same_v<T, Float16>) return to_float16(value);
    if constexpr (std::is_same_v<T, Bfloat16>) return to_bfloat16(value);
    if constexpr (std::is_same_v<T, Float8E4m3>) return to_float8_e4m3(value);
    if constexpr (std::is_same_v<T, Float8E5m2>) return to_float8_e5m2(value);
    if constexpr (std::is_same_v<T, Computed<T>>) return value;
}

/// An element at any address. It keeps its type, where a memcpy of 8 bytes makes f64 an integer, and GCC 12 then does
/// not vectorise comparisons.
template <class T>
struct [[gnu::packed, gnu::may_alias]] Unaligned {
    T value;
};

template <class T>
T load(const std::byte* from, std::size_t index) noexcept {
    return reinterpret_cast<const Unaligned<T>*>(from)[index].value;
}
template <class T>
void store(std::byte* to, std::size_t index, T value) noexcept {
    reinterpret_cast<Unaligned<T>*>(to)[index].value = value;
}

// Each element is loaded before it is stored and touches no other, so the loops below are free of dependences also when
// `output` is one of the operands; the compiler cannot know that the ranges overlap fully or not at all.
#if defined(__clang__)
#define VERBENA_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define VERBENA_INDEPENDENT _Pragma("GCC ivdep")
#endif

/// Results, left and right operands may be of different types: more than two inputs of a short float meet in f32.
template <class Result, class Left, class Right, class Op>
void combine(std::byte* output, const std::byte* left, const std::byte* right, std::size_t count) noexcept {
    VERBENA_INDEPENDENT
    for (std::size_t i = 0; i < count; ++i) {
        store(output, i, narrowed<Result>(Op::apply(widened(load<Left>(left, i)), widened(load<Right>(right, i)))));
    }
}

/// Block by block: each input is read from memory once, and the output, which may be an input, is written last. What a
/// block holds is rounded to the element's type once, at its end.
template <class T, class Op>
void fold(std::byte* output, std::span<const std::byte* const> inputs, std::size_t count) noexcept {
    using Wide = Computed<T>;
    if (inputs.size() == 2) return combine<T, T, T, Op>(output, inputs[0], inputs[1], count);
    constexpr std::size_t block_count = 4096 / sizeof(Wide);
    alignas(64) std::array<std::byte, block_count * sizeof(Wide)> block;
    for (std::size_t done = 0; done < count; done += block_count) {
        const std::size_t now = std::min(block_count, count - done);
        const std::size_t offset = done * sizeof(T);
        combine<Wide, T, T, Op>(block.data(), inputs[0] + offset, inputs[1] + offset, now);
        for (const std::byte* input : inputs.subspan(2, inputs.size() - 3))
            combine<Wide, Wide, T, Op>(block.data(), block.data(), input + offset, now);
        combine<T, Wide, T, Op>(output + offset, block.data(), inputs.back() + offset, now);
    }
}

template <class T>
void divide(std::byte* values, std::size_t count, std::uint32_t ranks) noexcept {
    // Integers in 64 bits: the number of ranks need not fit the element type.
    using Element = Computed<T>;
    using Wide = std::conditional_t<std::is_floating_point_v<Element>, Element,
                                    std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;
    const auto divisor = static_cast<Wide>(ranks);
    VERBENA_INDEPENDENT
    for (std::size_t i = 0; i < count; ++i) {
        const auto value = static_cast<Wide>(widened(load<T>(values, i)));
        store(values, i, narrowed<T>(static_cast<Element>(value / divisor)));
    }
}

#undef VERBENA_INDEPENDENT

using Fold = void (*)(std::byte*, std::span<const std::byte* const>, std::size_t) noexcept;
using Divide = void (*)(std::byte*, std::size_t, std::uint32_t) noexcept;

template <class T>
Fold fold_of(ReduceOp op) noexcept {
    switch (op) {
    case ReduceOp::sum:
    case ReduceOp::avg:
        return fold<T, Sum>;
    case ReduceOp::prod:
        return fold<T, Product>;
    case ReduceOp::min:
        return fold<T, Minimum>;
    case ReduceOp::max:
        return fold<T, Maximum>;
    }
    return nullptr;
}

/// Calls `visit` with a value of the element type.
template <class Visit>
auto with_type(DataType type, Visit visit) noexcept {
    switch (type) {
    case DataType::i8:
        return visit(std::int8_t{});
    case DataType::u8:
        return visit(std::uint8_t{});
    case DataType::i32:
        return visit(std::int32_t{});
    case DataType::u32:
        return visit(std::uint32_t{});
    case DataType::i64:
        return visit(std::int64_t{});
    case DataType::u64:
        return visit(std::uint64_t{});
    case DataType::f32:
        return visit(float{});
    case DataType::f64:
        return visit(double{});
    case DataType::f16:
        return visit(Float16{});
    case DataType::bf16:
        return visit(Bfloat16{});
    case DataType::f8e4m3:
        return visit(Float8E4m3{});
    case DataType::f8e5m2:
        break;
    }
    return visit(Float8E5m2{});
}

} // namespace

void reduce(DataType type, ReduceOp op, std::byte* output, std::span<const std::byte* const> inputs,
            std::size_t count) noexcept {
    assert(inputs.size() >= 2 && inputs.size() <= max_reduce_inputs);
    with_type(type, [op](auto sample) -> Fold { return fold_of<decltype(sample)>(op); })(output, inputs, count);
}

void finish(DataType type, ReduceOp op, std::byte* values, std::size_t count, std::uint32_t ranks) noexcept {
    if (op != ReduceOp::avg) return;
    with_type(type, [](auto sample) -> Divide { return divide<decltype(sample)>; })(values, count, ranks);
}

} // namespace verbena::coll
