/// @file
/// What a buffer holds while the interpreter walks a plan: not numbers, but whose contributions to which element.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "coll/rank_set.hpp"

namespace verbena::coll {

/// `count` places from `offset` on hold the reduction of input elements `element`, `element + 1`, ... of the ranks in
/// `contributors`.
struct Segment {
    std::uint64_t offset = 0;
    std::uint64_t count = 0;
    std::uint64_t element = 0;
    RankSet contributors;
};
using Segments = std::vector<Segment>; ///< by offset, without overlap; what lies between is undefined

/// One buffer's contents. Its cost grows with the ranges of the plan, not with the count of elements. A value.
class Contents {
  public:
    /// What is defined within the range, offsets counted from its start.
    [[nodiscard]] Segments read(std::uint64_t offset, std::uint64_t count) const;
    /// Replaces the range by `segments`, whose offsets count from its start.
    void write(std::uint64_t offset, std::uint64_t count, const Segments& segments);

  private:
    /// The segments [first, last) that meet [begin, end).
    [[nodiscard]] std::pair<std::size_t, std::size_t> touched(std::uint64_t begin, std::uint64_t end) const;

    Segments segments_;
};

/// The first place in [0, count) that no segment covers, or `count`.
[[nodiscard]] std::uint64_t first_gap(const Segments& segments, std::uint64_t count) noexcept;

/// The element-wise reduction of two ranges without gaps. Where it would be wrong (a rank's contribution twice, two
/// different elements), `problem` says so and the result is empty.
[[nodiscard]] Segments combine(const Segments& left, const Segments& right, std::uint32_t ranks, std::string& problem);

} // namespace verbena::coll
