/// @file
/// The reduction kernel. Each .cu that includes this instantiates the element types of one family: they compile apart.
#pragma once

#include "reduce_variant.cuh"

namespace verbena::gpudirect {

// Integers are computed unsigned: they wrap, and overflow stays defined.
template <class T>
using Wrapping = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;

struct Sum {
    static constexpr bool is_scaled = false;
    template <class T>
    static __device__ T apply(T a, T b) {
        return static_cast<T>(Wrapping<T>(a) + Wrapping<T>(b));
    }
};
struct ScaledSum : Sum {
    static constexpr bool is_scaled = true;
};
struct Product {
    static constexpr bool is_scaled = false;
    template <class T>
    static __device__ T apply(T a, T b) {
        return static_cast<T>(Wrapping<T>(a) * Wrapping<T>(b));
    }
};
// A NaN on either side stays one, and of equal operands the later is taken, as the core's host reductions do it.
struct Minimum {
    static constexpr bool is_scaled = false;
    template <class T>
    static __device__ T apply(T a, T b) {
        return a < b || a != a ? a : b;
    }
};
struct Maximum {
    static constexpr bool is_scaled = false;
    template <class T>
    static __device__ T apply(T a, T b) {
        return a > b || a != a ? a : b;
    }
};

/// Integers in 64 bits, since the divisor need not fit the type, and truncated toward zero.
template <class T>
__device__ T quotient(T value, std::uint32_t divisor) {
    if constexpr (std::is_floating_point_v<T>)
        return value / static_cast<T>(divisor);
    else if constexpr (std::is_signed_v<T>)
        return static_cast<T>(std::int64_t{value} / std::int64_t{divisor});
    else
        return static_cast<T>(std::uint64_t{value} / divisor);
}

template <class Op, class T>
__device__ T scaled(T value, const ReduceArguments& arguments, int input) {
    if constexpr (!Op::is_scaled)
        return value;
    else if constexpr (std::is_floating_point_v<T>)
        return value * static_cast<T>(arguments.factors[input]);
    else
        return static_cast<T>(Wrapping<T>(value) * Wrapping<T>(static_cast<std::int64_t>(arguments.factors[input])));
}

template <class T, class Op, int unroll>
__device__ void reduce_vectors(const ReduceArguments& arguments, std::size_t first, std::size_t end) {
    const std::byte* base = arguments.inputs[0] + arguments.head * sizeof(T);
    Lanes<T> raw[unroll];
    WideLanes<T> result[unroll];
    const auto is_there = [&](int u) { return first + u * std::size_t{blockDim.x} < end; };
    const auto offset = [&](int u) { return (first + u * std::size_t{blockDim.x}) * vector_bytes; };
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
        if (is_there(u)) raw[u] = load_vector<T>(base + offset(u));
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
        widen(raw[u].lane, result[u].lane);
#pragma unroll
        for (std::size_t i = 0; i < width<T>; ++i) result[u].lane[i] = scaled<Op>(result[u].lane[i], arguments, 0);
    }
#pragma unroll 4
    for (int input = 1; input < arguments.input_count; ++input) {
        const std::byte* next = arguments.inputs[input] + arguments.head * sizeof(T);
#pragma unroll
        for (int u = 0; u < unroll; ++u) {
            if (is_there(u)) raw[u] = load_vector<T>(next + offset(u));
        }
#pragma unroll
        for (int u = 0; u < unroll; ++u) {
            WideLanes<T> operand;
            widen(raw[u].lane, operand.lane);
#pragma unroll
            for (std::size_t i = 0; i < width<T>; ++i) {
                result[u].lane[i] = Op::apply(result[u].lane[i], scaled<Op>(operand.lane[i], arguments, input));
            }
        }
    }
    if (arguments.divisor != 1) {
#pragma unroll
        for (int u = 0; u < unroll; ++u) {
            for (std::size_t i = 0; i < width<T>; ++i)
                result[u].lane[i] = quotient(result[u].lane[i], arguments.divisor);
        }
    }
    std::byte* output = arguments.output + arguments.head * sizeof(T);
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
        narrow<T>(result[u].lane, raw[u].lane);
        if (is_there(u)) store_vector(output + offset(u), raw[u]);
    }
}

/// Tile by tile: a block's threads read one run of memory of each input. Each element is read and written by one thread
/// alone, so that output may be an input.
template <class T, class Op, int unroll>
__global__ void __launch_bounds__(reduce_threads_of_few) reduce(const __grid_constant__ ReduceArguments arguments) {
    const std::size_t tile = std::size_t{blockDim.x} * unroll;
    for (std::size_t start = blockIdx.x * tile; start < arguments.vectors; start += gridDim.x * tile) {
        if (start + tile <= arguments.vectors)
            reduce_vectors<T, Op, unroll>(arguments, start + threadIdx.x, ~std::size_t{0});
        else
            reduce_vectors<T, Op, unroll>(arguments, start + threadIdx.x, arguments.vectors);
    }

    const std::size_t in_vectors = arguments.vectors * width<T>;
    const bool is_aligned = arguments.elements_are_aligned;
    const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t rest = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; rest < arguments.count - in_vectors;
         rest += step) {
        const std::size_t offset = (rest < arguments.head ? rest : rest + in_vectors) * sizeof(T);
        const auto operand = [&](int input) {
            return scaled<Op>(widened(load_element<T>(arguments.inputs[input] + offset, is_aligned)), arguments, input);
        };
        Computed<T> result = operand(0);
        for (int input = 1; input < arguments.input_count; ++input) result = Op::apply(result, operand(input));
        if (arguments.divisor != 1) result = quotient(result, arguments.divisor);
        store_element(arguments.output + offset, narrowed<T>(result), is_aligned);
    }
}

/// Few inputs need more vectors of each in flight to fill the memory system; the conversions of 8-bit floats gain from
/// more at once as well.
template <class T>
ReduceVariant reduce_variant(ReduceOp op, bool is_scaled, int inputs) {
    switch (op) {
    case ReduceOp::sum:
    case ReduceOp::avg:
        if (is_scaled) return {reduce<T, ScaledSum, 2>, 2};
        if (inputs <= 4 || std::is_same_v<T, E4m3>) return {reduce<T, Sum, 2>, 2};
        return {reduce<T, Sum, 1>, 1};
    case ReduceOp::prod:
        return {reduce<T, Product, 2>, 2};
    case ReduceOp::min:
        return {reduce<T, Minimum, 2>, 2};
    case ReduceOp::max:
        return {reduce<T, Maximum, 2>, 2};
    }
    return {};
}

} // namespace verbena::gpudirect
