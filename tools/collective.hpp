/// @file
/// One size of `coll all_reduce` on one rank: timed, then checked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <verbena/group.hpp>
#include <verbena/memory.hpp>

#include "rates.hpp"
#include "reduction_values.hpp"
#include "session.hpp"

namespace verbena::tools {

struct AllReduceOptions {
    DataType type = DataType::f32;
    ReduceOp op = ReduceOp::sum;
    std::string algorithm; ///< empty: chosen by size
    bool in_place = false;
    bool check = true;
    MemoryKind memory = MemoryKind::host;
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
class AllReduceTest {
  public:
    AllReduceTest(Session& session, const AllReduceOptions& options, std::uint64_t largest_bytes);

    /// Checks first, with other values each time, so that what is then timed is known to be right; out of place the
    /// last timed result is checked as well.
    RankResult run(std::size_t count, std::uint64_t warmup, std::uint64_t iterations);

    static constexpr std::uint64_t checked_iterations = 3;

  private:
    void call(std::size_t count);
    void prepare(std::size_t count, std::uint64_t iteration);
    void check(std::size_t count, std::uint64_t iteration, RankResult& result);
    [[nodiscard]] Reduction reduction(std::uint64_t iteration);
    [[nodiscard]] std::byte* output() { return options_.in_place ? input_.data() : output_.data(); }

    Session& session_;
    AllReduceOptions options_;
    Group world_;
    MemoryRegion input_;
    MemoryRegion output_; ///< empty in place
    std::vector<std::byte> staging_;
};

} // namespace verbena::tools
