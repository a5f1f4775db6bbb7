/// @file
/// Ranks that act together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <verbena/export.hpp>
#include <verbena/float16.hpp>
#include <verbena/operation.hpp>

namespace verbena {

/// Element types. f16 is IEEE 754 binary16, bf16 the upper half of an f32; both are reduced in f32 and rounded to the
/// nearest after each step of an algorithm. Reductions of them take host memory; GPU memory is refused.
enum class DataType : std::uint8_t { i8, u8, i32, u32, i64, u64, f32, f64, f16, bf16 };
/// Integer sums and products wrap modulo 2^n. `avg` is the sum divided by the number of ranks (integers: truncated).
enum class ReduceOp : std::uint8_t { sum, prod, min, max, avg };

/// What ranks do together; Group has a call for each.
enum class Collective : std::uint8_t {
    barrier,
    all_reduce,
    broadcast,
    reduce,
    reduce_scatter,
    all_gather,
    gather,
    scatter,
    all_to_all,
};

[[nodiscard]] VERBENA_API std::string_view name(Collective collective) noexcept; ///< "all_reduce"
[[nodiscard]] VERBENA_API std::optional<Collective> collective_of(std::string_view name) noexcept;
[[nodiscard]] VERBENA_API std::string_view name(DataType type) noexcept;
[[nodiscard]] VERBENA_API std::string_view name(ReduceOp op) noexcept;
[[nodiscard]] VERBENA_API std::size_t size_of(DataType type) noexcept; ///< bytes
[[nodiscard]] VERBENA_API std::optional<DataType> data_type_of(std::string_view name) noexcept;
[[nodiscard]] VERBENA_API std::optional<ReduceOp> reduce_op_of(std::string_view name) noexcept;

template <class T>
struct DataTypeOf;
template <>
struct DataTypeOf<std::int8_t> {
    static constexpr DataType value = DataType::i8;
};
template <>
struct DataTypeOf<std::uint8_t> {
    static constexpr DataType value = DataType::u8;
};
template <>
struct DataTypeOf<std::int32_t> {
    static constexpr DataType value = DataType::i32;
};
template <>
struct DataTypeOf<std::uint32_t> {
    static constexpr DataType value = DataType::u32;
};
template <>
struct DataTypeOf<std::int64_t> {
    static constexpr DataType value = DataType::i64;
};
template <>
struct DataTypeOf<std::uint64_t> {
    static constexpr DataType value = DataType::u64;
};
template <>
struct DataTypeOf<float> {
    static constexpr DataType value = DataType::f32;
};
template <>
struct DataTypeOf<double> {
    static constexpr DataType value = DataType::f64;
};
template <>
struct DataTypeOf<Float16> {
    static constexpr DataType value = DataType::f16;
};
template <>
struct DataTypeOf<Bfloat16> {
    static constexpr DataType value = DataType::bf16;
};

/// Which algorithm a collective would take, and why.
struct AlgorithmChoice {
    std::string algorithm; ///< "ring", "recursive_doubling"
    std::string reason;    ///< one sentence
};

/// A group of ranks; Runtime::world() is all of them. A view, copy it freely. Every rank calls the same collectives in
/// the same order. One caller at a time.
class VERBENA_API Group {
  public:
    [[nodiscard]] std::uint32_t rank() const noexcept;
    [[nodiscard]] std::uint32_t size() const noexcept;

    /// `output[i]` becomes the reduction of every rank's `input[i]`, on every rank. `input == output` is allowed, any
    /// other overlap is not. Both are of one memory kind. `algorithm` forces one; empty: chosen by size.
    /// @throws Error (invalid_argument) for an unknown algorithm, a null pointer or a partial overlap.
    Operation all_reduce(const void* input, void* output, std::size_t count, DataType type, ReduceOp op,
                         std::string_view algorithm = {});
    template <class T>
    Operation all_reduce(const T* input, T* output, std::size_t count, ReduceOp op = ReduceOp::sum) {
        return all_reduce(input, output, count, DataTypeOf<T>::value, op);
    }
    /// Completes when every rank has entered it.
    Operation barrier();

    [[nodiscard]] AlgorithmChoice explain_all_reduce(std::size_t count, DataType type) const;
    [[nodiscard]] static std::vector<std::string> all_reduce_algorithms();

    explicit Group(detail::RuntimeCore* core) noexcept : core_(core) {}

  private:
    detail::RuntimeCore* core_;
};

} // namespace verbena
