#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "reduce_kernel.hpp"

namespace verbena::gpudirect {
namespace {

constexpr int threads_per_block = 256;
constexpr int blocks_per_multiprocessor = 8; // 8 * 256 threads fill a multiprocessor: the loads of all hide the latency
constexpr std::size_t vector_bytes = 16;     // the widest load of one thread

/// Kernel argument, so the pointers sit in constant memory.
struct Inputs {
    const std::byte* pointer[max_reduce_inputs];
    int count;
};

/// Elements [head, head + vectors * per vector) go 16 bytes at a time, those before and after one by one.
struct Split {
    std::size_t head;
    std::size_t vectors;
    bool elements_are_aligned; ///< every pointer is a multiple of the element's size
};

/// Integers are computed unsigned: they wrap, and overflow stays defined.
template <class T>
using Wrapping = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;

struct Sum {
    template <class T>
    static __device__ T apply(T a, T b) {
        return static_cast<T>(Wrapping<T>(a) + Wrapping<T>(b));
    }
};
struct Product {
    template <class T>
    static __device__ T apply(T a, T b) {
        return static_cast<T>(Wrapping<T>(a) * Wrapping<T>(b));
    }
};
// A NaN on either side stays one, and of equal operands the later is taken, as the core's host reductions do it.
struct Minimum {
    template <class T>
    static __device__ T apply(T a, T b) {
        return a < b || a != a ? a : b;
    }
};
struct Maximum {
    template <class T>
    static __device__ T apply(T a, T b) {
        return a > b || a != a ? a : b;
    }
};

template <class T>
struct Lanes {
    T lane[vector_bytes / sizeof(T)];
};

template <class T>
__device__ Lanes<T> load_vector(const std::byte* address) {
    const uint4 raw = *reinterpret_cast<const uint4*>(address);
    Lanes<T> lanes;
    memcpy(&lanes, &raw, vector_bytes);
    return lanes;
}

template <class T>
__device__ void store_vector(std::byte* address, const Lanes<T>& lanes) {
    uint4 raw;
    memcpy(&raw, &lanes, vector_bytes);
    *reinterpret_cast<uint4*>(address) = raw;
}

template <class T>
__device__ T load_element(const std::byte* address, bool is_aligned) {
    if (is_aligned) return *reinterpret_cast<const T*>(address);
    T value;
    memcpy(&value, address, sizeof(T)); // byte by byte: a misaligned load would fault
    return value;
}

template <class T>
__device__ void store_element(std::byte* address, T value, bool is_aligned) {
    if (is_aligned) {
        *reinterpret_cast<T*>(address) = value;
    } else {
        memcpy(address, &value, sizeof(T));
    }
}

template <class T, class Op>
__global__ void __launch_bounds__(threads_per_block)
    reduce(Inputs inputs, std::byte* output, std::size_t count, Split split) {
    constexpr std::size_t width = vector_bytes / sizeof(T);
    const std::size_t first = blockIdx.x * std::size_t{threads_per_block} + threadIdx.x;
    const std::size_t step = gridDim.x * std::size_t{threads_per_block};

    for (std::size_t vector = first; vector < split.vectors; vector += step) {
        const std::size_t offset = split.head * sizeof(T) + vector * vector_bytes;
        Lanes<T> result = load_vector<T>(inputs.pointer[0] + offset);
#pragma unroll 4
        for (int input = 1; input < inputs.count; ++input) {
            const Lanes<T> next = load_vector<T>(inputs.pointer[input] + offset);
#pragma unroll
            for (std::size_t i = 0; i < width; ++i) result.lane[i] = Op::apply(result.lane[i], next.lane[i]);
        }
        store_vector(output + offset, result);
    }

    const std::size_t in_vectors = split.vectors * width;
    for (std::size_t rest = first; rest < count - in_vectors; rest += step) {
        const std::size_t offset = (rest < split.head ? rest : rest + in_vectors) * sizeof(T);
        T result = load_element<T>(inputs.pointer[0] + offset, split.elements_are_aligned);
        for (int input = 1; input < inputs.count; ++input) {
            result = Op::apply(result, load_element<T>(inputs.pointer[input] + offset, split.elements_are_aligned));
        }
        store_element(output + offset, result, split.elements_are_aligned);
    }
}

using Kernel = void (*)(Inputs, std::byte*, std::size_t, Split);

template <class T>
Kernel kernel_of(ReduceOp op) {
    switch (op) {
    case ReduceOp::sum:
    case ReduceOp::avg:
        return reduce<T, Sum>;
    case ReduceOp::prod:
        return reduce<T, Product>;
    case ReduceOp::min:
        return reduce<T, Minimum>;
    case ReduceOp::max:
        return reduce<T, Maximum>;
    }
    return nullptr;
}

Kernel kernel_of(DataType type, ReduceOp op) {
    switch (type) {
    case DataType::i8:
        return kernel_of<std::int8_t>(op);
    case DataType::u8:
        return kernel_of<std::uint8_t>(op);
    case DataType::i32:
        return kernel_of<std::int32_t>(op);
    case DataType::u32:
        return kernel_of<std::uint32_t>(op);
    case DataType::i64:
        return kernel_of<std::int64_t>(op);
    case DataType::u64:
        return kernel_of<std::uint64_t>(op);
    case DataType::f32:
        return kernel_of<float>(op);
    case DataType::f64:
        return kernel_of<double>(op);
    case DataType::f16: // refused by GpuSpace::reduce()
    case DataType::bf16:
        break;
    }
    return nullptr;
}

/// Vectors need every pointer at the same distance from a 16-byte boundary, and that distance in whole elements.
Split split_of(const ReduceLaunch& launch) {
    const std::size_t element_bytes = launch.element_bytes;
    const auto address = [](const std::byte* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); };
    const std::uintptr_t misalignment = address(launch.output) % vector_bytes;
    bool alike = true;
    bool elements_are_aligned = misalignment % element_bytes == 0;
    for (int i = 0; i < launch.input_count; ++i) {
        alike = alike && address(launch.inputs[i]) % vector_bytes == misalignment;
        elements_are_aligned = elements_are_aligned && address(launch.inputs[i]) % element_bytes == 0;
    }
    if (!alike || !elements_are_aligned) return {0, 0, elements_are_aligned};
    const std::size_t to_boundary = (vector_bytes - misalignment) % vector_bytes / element_bytes;
    const std::size_t head = std::min(to_boundary, launch.count);
    return {head, (launch.count - head) / (vector_bytes / element_bytes), true};
}

} // namespace

cudaError_t launch_reduce(const ReduceLaunch& launch, cudaStream_t stream) {
    const Kernel kernel = kernel_of(launch.type, launch.op);
    if (kernel == nullptr) return cudaErrorInvalidValue;
    Inputs inputs{};
    std::copy_n(launch.inputs.begin(), launch.input_count, inputs.pointer);
    inputs.count = launch.input_count;
    const Split split = split_of(launch);
    const std::size_t steps = split.vectors != 0 ? split.vectors : launch.count;
    const std::size_t blocks = std::min((steps + threads_per_block - 1) / threads_per_block,
                                        static_cast<std::size_t>(launch.multiprocessors) * blocks_per_multiprocessor);
    kernel<<<static_cast<unsigned>(blocks), threads_per_block, 0, stream>>>(inputs, launch.output, launch.count, split);
    return cudaGetLastError();
}

} // namespace verbena::gpudirect
