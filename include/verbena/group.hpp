/// @file
/// Ranks that act together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <verbena/export.hpp>
#include <verbena/float16.hpp>
#include <verbena/float8.hpp>
#include <verbena/operation.hpp>

namespace verbena {

/// Element types. f16 is IEEE 754 binary16, bf16 the upper half of an f32, f8e4m3 and f8e5m2 the 8-bit formats of the
/// OCP specification. These four are reduced in f32 and rounded to the nearest after each step of an algorithm; a sum
/// beyond the range is infinity, in f8e4m3, which has none, NaN.
enum class DataType : std::uint8_t { i8, u8, i32, u32, i64, u64, f32, f64, f16, bf16, f8e4m3, f8e5m2 };
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
    scan,
    exclusive_scan,
    reduce_scatter_v,
    all_gather_v,
    gather_v,
    scatter_v,
    all_to_all_v,
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
template <>
struct DataTypeOf<Float8E4m3> {
    static constexpr DataType value = DataType::f8e4m3;
};
template <>
struct DataTypeOf<Float8E5m2> {
    static constexpr DataType value = DataType::f8e5m2;
};

/// A reduction of the program's own, over host memory: associative, and commutative except in a scan.
struct UserReduction {
    /// `result[i] = left[i] op right[i]` for `count` elements; `result` may be either operand. Must not throw.
    using Combine = void (*)(const void* left, const void* right, void* result, std::size_t count, void* context);

    std::size_t element_bytes = 0;
    Combine combine = nullptr;
    void* context = nullptr; ///< handed to `combine`; stays until the call, or the Persistent, is over
};

/// A call of any collective as a value; what an operation does not use is left out. Buffers, counts and the rest mean
/// what they mean in the call of Group of that name.
struct CollectiveCall {
    Collective collective = Collective::barrier;
    const void* input = nullptr;
    void* output = nullptr;
    std::size_t count = 0;
    DataType type = DataType::u8;
    ReduceOp op = ReduceOp::sum;
    std::uint32_t root = 0;
    std::string_view algorithm{};
    std::span<const std::uint64_t> counts{};
    std::span<const std::uint64_t> receive_counts{};
    const UserReduction* reduction = nullptr; ///< in place of `type` and `op`
};

/// Which algorithm a collective would take, and why.
struct AlgorithmChoice {
    std::string algorithm; ///< "ring", "recursive_doubling"
    std::string reason;    ///< one sentence
};

namespace detail {
struct GroupCore;
}

class Persistent;

/// A group of ranks; Runtime::world() is all of them, split() and shrink() make others. Copies are the same group,
/// which must not outlive its Runtime; it goes with its last copy, and each rank drops its own when it likes. Every
/// rank calls the same collectives in the same order, with the same count, type, operation, root and algorithm; several
/// may run at once. One caller at a time.
///
/// Calls that differ, a rank that makes no call within the setting `collective-timeout`, and a rank that is gone end
/// the group: on every rank, all its calls, running and later, end with one Status, whose `source` is the odd rank's
/// number in the job, and failure() says what differs. shrink() gives a new group.
///
/// `count` is in elements. Where each rank has a block, it is that of one block, and a buffer of all holds size()
/// blocks in the order of ranks. A buffer that a rank does not use may be null. Input and output are of one memory kind
/// and do not overlap, except in place, as each call says. `algorithm` forces one of algorithms(); empty: chosen by
/// size.
///
/// All throw Error (invalid_argument), and have sent nothing then, for an unknown algorithm or root, a null pointer, a
/// size beyond the address space or a wrong overlap.
class VERBENA_API Group {
  public:
    [[nodiscard]] std::uint32_t rank() const noexcept;
    [[nodiscard]] std::uint32_t size() const noexcept;

    /// `output[i]` becomes the reduction of every rank's `input[i]`, on every rank. In place: input == output.
    Operation all_reduce(const void* input, void* output, std::size_t count, DataType type, ReduceOp op,
                         std::string_view algorithm = {});
    template <class T>
    Operation all_reduce(const T* input, T* output, std::size_t count, ReduceOp op = ReduceOp::sum) {
        return all_reduce(input, output, count, DataTypeOf<T>::value, op);
    }
    /// `output` becomes the root's `input`, on every rank, the root included. Only the root uses `input`. In place:
    /// input == output.
    Operation broadcast(const void* input, void* output, std::size_t count, DataType type, std::uint32_t root,
                        std::string_view algorithm = {});
    /// `output[i]` becomes the reduction of every rank's `input[i]`, on the root, which alone uses `output`. In place:
    /// input == output.
    Operation reduce(const void* input, void* output, std::size_t count, DataType type, ReduceOp op, std::uint32_t root,
                     std::string_view algorithm = {});
    /// `input` holds a block for each rank; `output` becomes the reduction of every rank's block for this one. In
    /// place: output == input + rank() blocks; the rest of `input` stays as it is.
    Operation reduce_scatter(const void* input, void* output, std::size_t count, DataType type, ReduceOp op,
                             std::string_view algorithm = {});
    /// `output` becomes the blocks of all ranks, on every rank. In place: input == output + rank() blocks.
    Operation all_gather(const void* input, void* output, std::size_t count, DataType type,
                         std::string_view algorithm = {});
    /// `output` becomes the blocks of all ranks, on the root, which alone uses `output`. In place there: input ==
    /// output + rank() blocks.
    Operation gather(const void* input, void* output, std::size_t count, DataType type, std::uint32_t root,
                     std::string_view algorithm = {});
    /// `output` becomes the root's block for this rank. Only the root uses `input`. In place there: output == input +
    /// rank() blocks.
    Operation scatter(const void* input, void* output, std::size_t count, DataType type, std::uint32_t root,
                      std::string_view algorithm = {});
    /// Block r of `output` becomes rank r's block for this one; both hold a block for each rank. Not in place.
    Operation all_to_all(const void* input, void* output, std::size_t count, DataType type,
                         std::string_view algorithm = {});
    /// `output[i]` becomes the reduction of `input[i]` of this rank and those below it. In place: input == output.
    Operation scan(const void* input, void* output, std::size_t count, DataType type, ReduceOp op,
                   std::string_view algorithm = {});
    /// The same of the ranks below alone; rank 0's `output` stays as it is. In place: input == output.
    Operation exclusive_scan(const void* input, void* output, std::size_t count, DataType type, ReduceOp op,
                             std::string_view algorithm = {});
    /// Completes when every rank has entered it.
    Operation barrier();

    // Blocks of different lengths: `counts` has one for each rank, the same on every rank, and blocks follow each other
    // without a gap. In place as without.
    Operation reduce_scatter_v(const void* input, void* output, std::span<const std::uint64_t> counts, DataType type,
                               ReduceOp op, std::string_view algorithm = {});
    Operation all_gather_v(const void* input, void* output, std::span<const std::uint64_t> counts, DataType type,
                           std::string_view algorithm = {});
    Operation gather_v(const void* input, void* output, std::span<const std::uint64_t> counts, DataType type,
                       std::uint32_t root, std::string_view algorithm = {});
    Operation scatter_v(const void* input, void* output, std::span<const std::uint64_t> counts, DataType type,
                        std::uint32_t root, std::string_view algorithm = {});
    /// Each rank has lists of its own: what it sends to each rank, and what it receives from each.
    Operation all_to_all_v(const void* input, std::span<const std::uint64_t> counts, void* output,
                           std::span<const std::uint64_t> receive_counts, DataType type,
                           std::string_view algorithm = {});

    /// Any of the above.
    Operation start(const CollectiveCall& call);
    /// Checks the arguments and makes the plan once, for many starts.
    [[nodiscard]] Persistent prepare(const CollectiveCall& call);
    /// Takes in a plan (docs/plan-format.md), after proving it, and returns its name, which calls on this group may
    /// then give as `algorithm`. Every rank adds the same. @throws Error (invalid_argument) that names the wrong step
    std::string add_plan(std::string_view text);

    /// `bytes` is the longer buffer of a rank: where each rank has a block, all of them.
    [[nodiscard]] AlgorithmChoice explain(Collective collective, std::uint64_t bytes) const;
    [[nodiscard]] static std::vector<std::string> algorithms(Collective collective);
    [[nodiscard]] AlgorithmChoice explain_all_reduce(std::size_t count, DataType type) const {
        return explain(Collective::all_reduce, count * size_of(type));
    }
    [[nodiscard]] static std::vector<std::string> all_reduce_algorithms() { return algorithms(Collective::all_reduce); }

    /// The ranks that give one `colour` become a group, in the order of `key`, then of their rank here. Collective over
    /// this group, and waits for it. Nothing for a negative colour.
    /// @throws Error where the group is over, as failure() says; exhausted after some 32,000 groups of one job.
    [[nodiscard]] std::optional<Group> split(std::int64_t colour, std::int64_t key = 0);
    /// A new group of the ranks that are still there, in the same order, whatever has become of this one. They must all
    /// call it, and wait for each other at most the setting `operation-timeout`.
    /// @throws Error timed_out that names a rank that does not come; refused where the others have lost this rank.
    [[nodiscard]] Group shrink();
    /// This group's ranks as the job numbers them.
    [[nodiscard]] std::vector<std::uint32_t> job_ranks() const;
    /// Why the group is over: "call #17 differs: rank 3 calls all_gather of ..."; empty while it is not. Ranks in it
    /// are those of this group.
    [[nodiscard]] std::string failure() const;

    explicit Group(std::shared_ptr<detail::GroupCore> core) noexcept : core_(std::move(core)) {}

  private:
    std::shared_ptr<detail::GroupCore> core_; ///< shared with copies, and with the Runtime, which closes it
};

/// A call that can be started again and again, without set-up: buffers, counts and algorithm stay. Move-only; it must
/// not outlive its Runtime. Every rank starts it at the same place among its calls, several runs of it must not
/// overlap.
class VERBENA_API Persistent {
  public:
    Persistent(Persistent&&) noexcept;
    Persistent& operator=(Persistent&&) noexcept;
    ~Persistent();

    Operation start();

  private:
    friend class Group;
    struct Impl;
    explicit Persistent(std::unique_ptr<Impl> impl) noexcept;
    std::unique_ptr<Impl> impl_;
};

} // namespace verbena
