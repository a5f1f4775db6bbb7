/// @file
/// One size of a `coll` operation on one rank: checked, then timed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <verbena/group.hpp>
#include <verbena/memory.hpp>
#include <verbena/operation.hpp>

#include "coll_operation.hpp"
#include "memory_kind.hpp"
#include "rates.hpp"
#include "reduction_values.hpp"
#include "session.hpp"

namespace verbena::tools {

struct CollectiveOptions {
    CollOperation operation = coll_operation_named("all_reduce");
    DataType type = DataType::f32;
    ReduceOp op = ReduceOp::sum;
    std::uint32_t root = 0;
    std::string algorithm; ///< empty: chosen by size
    bool in_place = false;
    bool check = true;
    MemoryChoice memory;
};

/// What a rank found; it travels to the others as text.
struct RankResult {
    double seconds = 0; ///< mean of one call
    std::uint64_t wrong = 0;
    std::uint64_t offset = 0; ///< element of the first wrong one
    std::uint64_t iteration = 0;
    std::string expected;
    std::string got;

    [[nodiscard]] std::string encode() const;
    /// @throws Error (protocol_violation)
    [[nodiscard]] static RankResult decode(const std::string& text);
};

/// One caller at a time.
class CollectiveTest {
  public:
    /// `largest_bytes` is that of a rank's longer buffer.
    CollectiveTest(Session& session, const CollectiveOptions& options, std::uint64_t largest_bytes);

    /// Checks first, with other values each time, so that what is then timed is known to be right; out of place the
    /// last timed result is checked as well. `count` is the call's.
    RankResult run(std::size_t count, std::uint64_t warmup, std::uint64_t iterations);

    static constexpr std::uint64_t checked_iterations = 3;

  private:
    void call(std::size_t count);
    void prepare(std::size_t count, std::uint64_t iteration);
    void check(std::size_t count, std::uint64_t iteration, RankResult& result);
    /// Checks one block of the output, which is in staging_.
    void check_block(std::uint32_t block, std::size_t count, std::uint64_t iteration, RankResult& result);
    [[nodiscard]] Reduction reduction(std::uint64_t iteration);
    [[nodiscard]] CollBuffers buffers(std::size_t count);
    [[nodiscard]] std::size_t bytes_of(std::size_t elements) const { return elements * size_of(options_.type); }
    [[nodiscard]] std::span<std::byte> input(std::size_t count);
    [[nodiscard]] std::span<std::byte> output(std::size_t count);
    [[nodiscard]] Operation start(std::size_t count);

    Session& session_;
    CollectiveOptions options_;
    Group world_;
    MemoryRegion input_;  ///< in place: of both
    MemoryRegion output_; ///< empty in place
    std::vector<std::byte> staging_;
    std::vector<std::uint64_t> counts_; ///< of uneven blocks, for the call that is being made
};

} // namespace verbena::tools
