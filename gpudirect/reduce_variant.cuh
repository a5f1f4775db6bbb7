/// @file
/// Which reduction kernel there is for a type: declared here, instantiated by family in reduce_integers.cu and its
/// neighbours, which compile apart.
#pragma once

#include "elements.cuh"
#include "reduce_kernel.hpp"

namespace verbena::gpudirect {

inline constexpr int reduce_threads = 128;        // of a block, where all multiprocessors work
inline constexpr int reduce_threads_of_few = 256; // where few do: a block each

/// Kernel argument, so the pointers sit in constant memory. Elements [head, head + vectors * per vector) go 16 bytes at
/// a time, those before and after one by one.
struct ReduceArguments {
    const std::byte* inputs[max_reduce_inputs];
    double factors[max_reduce_inputs];
    std::byte* output;
    std::size_t count;
    std::size_t head;
    std::size_t vectors;
    int input_count;
    std::uint32_t divisor;
    bool elements_are_aligned; ///< every pointer is a multiple of the element's size
};

using ReduceKernel = void (*)(ReduceArguments);

/// `vectors` 16-byte vectors of each input are in flight in a thread at once.
struct ReduceVariant {
    ReduceKernel kernel = nullptr;
    int vectors = 1;
};

/// Of the types that are instantiated somewhere.
template <class T>
[[nodiscard]] ReduceVariant reduce_variant(ReduceOp op, bool scaled, int inputs);

} // namespace verbena::gpudirect
