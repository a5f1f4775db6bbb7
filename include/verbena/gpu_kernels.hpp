/// @file
/// Kernels on GPU memory, for programs that have a CUDA stream of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <verbena/group.hpp>

namespace verbena {

/// Where and how widely a kernel runs.
struct GpuStream {
    void* stream = nullptr;  ///< cudaStream_t of the GPU that holds the memory; null: its legacy default stream
    int multiprocessors = 0; ///< at most so many, the others are left to kernels that compute; 0: all
};

/// `output[i] = op(inputs[0][i], inputs[1][i], ...)`, folded from the left, computed in f32 for the short floats, in
/// the type for the others, and rounded once at its end. `output` is exactly one of the inputs or overlaps none.
struct GpuReduction {
    DataType type = DataType::f32;
    ReduceOp op = ReduceOp::sum;
    void* output = nullptr;
    std::span<const void* const> inputs; ///< 1 to 16, at any alignment
    std::size_t count = 0;               ///< elements
    /// `avg`: what the sum is divided by; 0: the number of inputs.
    std::uint32_t divisor = 0;
    /// `sum` and `avg`: what each input is multiplied by before it is added; empty: nothing. Integers truncate them.
    std::span<const double> factors;
};

/// Floats to 8 bits with a scale for each 128 of them, and back: `value = code * scale`. The scale maps the largest
/// finite magnitude of its block to the format's largest (448 or 57344); it is 1 for a block without any. NaN becomes
/// NaN; infinity stays infinity in f8e5m2 and becomes NaN in f8e4m3, which has none.
struct GpuQuantisation {
    static constexpr std::size_t block = 128;
    DataType wide = DataType::bf16;   ///< f32, f16 or bf16
    DataType code = DataType::f8e4m3; ///< or f8e5m2
    void* values = nullptr;           ///< only read by quantise(), only written by dequantise()
    void* codes = nullptr;
    float* scales = nullptr; ///< (count + 127) / 128
    std::size_t count = 0;   ///< the last block may be short
};

/// Rows that change places: tokens of a mixture of experts into the order of their experts (pack), and back (unpack).
/// A negative index stands for none: its packed row is neither read nor written. Indices are GPU memory and are not
/// checked against the number of rows.
struct GpuRows {
    const std::int32_t* index = nullptr; ///< of `packed_rows`: packed row i belongs to row index[i]
    std::size_t packed_rows = 0;
    std::size_t row_bytes = 0;
    void* rows = nullptr;   ///< pack reads them; unpack writes them, no row twice
    void* packed = nullptr; ///< overlaps no row
};

/// `output[t] = sum over k of weights[t][k] * packed[slots[t][k]]`, added up in f32: what the experts say, by token.
struct GpuCombination {
    DataType type = DataType::bf16; ///< of rows and output: f32, f16 or bf16
    void* output = nullptr;         ///< tokens * hidden
    const void* packed = nullptr;
    const std::int32_t* slots = nullptr; ///< tokens * choices; a negative one stands for none
    const float* weights = nullptr;      ///< tokens * choices
    std::size_t tokens = 0;
    std::size_t hidden = 0;  ///< elements of a row
    std::size_t choices = 0; ///< experts a token
};

/// Each call checks its pointers, enqueues and returns; the memory must stay until the stream has passed it. No device
/// synchronisation, no allocation: all can be captured in a CUDA graph. All pointers are device or managed memory of
/// one GPU, except factors. Thread-safe. @throws Error (invalid_argument) that names the pointer and its kind
class GpuKernels {
  public:
    virtual ~GpuKernels() = default;
    virtual void reduce(const GpuReduction& reduction, const GpuStream& stream) = 0;
    virtual void quantise(const GpuQuantisation& quantisation, const GpuStream& stream) = 0;
    virtual void dequantise(const GpuQuantisation& quantisation, const GpuStream& stream) = 0;
    virtual void pack(const GpuRows& rows, const GpuStream& stream) = 0;
    virtual void unpack(const GpuRows& rows, const GpuStream& stream) = 0;
    virtual void combine(const GpuCombination& combination, const GpuStream& stream) = 0;
};

} // namespace verbena
