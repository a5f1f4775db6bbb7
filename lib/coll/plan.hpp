/// @file
/// A collective as a plan: for each rank, a list of steps over ranges of its buffers.
///
/// A plan knows neither element type nor reduction: it counts elements. Whoever runs one (the executor, the
/// interpreter) may start a step as soon as the steps it names in `after` are finished, so whatever is not ordered
/// overlaps. Two rules come on top, and keep any receive window from 1 up free of deadlock:
///   - sends to one peer start in list order, and so do receives from one peer;
///   - the n-th send to a peer meets the peer's n-th receive from us.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace verbena::coll {

/// `input` is only read. When a collective runs in place, `input` and `output` share memory (extent.hpp says how): a
/// plan must be right in both cases. `scratch` starts undefined.
enum class Buffer : std::uint8_t { input, output, scratch };

/// Offset and count in elements.
struct Range {
    Buffer buffer = Buffer::input;
    std::uint64_t offset = 0;
    std::uint64_t count = 0;

    [[nodiscard]] std::uint64_t end() const noexcept { return offset + count; }
    friend bool operator==(const Range&, const Range&) = default;
};

/// Piece `index` of `pieces` nearly equal ones; the first `count % pieces` are one element longer.
[[nodiscard]] Range part(const Range& whole, std::uint64_t pieces, std::uint64_t index) noexcept;

/// How many nearly equal pieces of at most `segment` elements a range needs; at least 1. A segment of 0 cuts nothing.
[[nodiscard]] std::uint64_t pieces_of(std::uint64_t count, std::uint64_t segment) noexcept;

enum class StepKind : std::uint8_t {
    send,           ///< `left` goes to `peer`
    receive,        ///< `target` comes from `peer`
    receive_reduce, ///< a message from `peer` lands in `right`, then `target = left op right`
    copy,           ///< `target = left`
    reduce,         ///< `target = left op right`
};

/// Of a reduction, `target` may be exactly one of the operands. The order of the operands is kept: where two ranks
/// compute the same value, both put the lower ranks' part left, so that results are equal to the bit.
struct Step {
    StepKind kind = StepKind::copy;
    std::uint32_t peer = 0; ///< send and receives only
    Range target{};
    Range left{};
    Range right{};
    std::vector<std::uint32_t> after; ///< earlier steps of this rank that must be finished
};

inline constexpr std::uint32_t no_step = ~std::uint32_t{0};

/// What one rank does. A value; immutable once built.
struct RankPlan {
    std::uint64_t scratch = 0; ///< elements
    std::vector<Step> steps;

    /// Appends and returns the index; `no_step` among `step.after` is left out.
    std::uint32_t add(Step step);
};

struct Plan {
    std::uint64_t count = 0; ///< as in Shape
    std::uint32_t root = 0;
    std::vector<RankPlan> ranks;
    /// Where blocks differ in length: by rank; of an all-to-all by sender, then by receiver. Else empty.
    std::vector<std::uint64_t> counts{};
};

[[nodiscard]] std::string_view name(Buffer buffer) noexcept;
[[nodiscard]] std::string_view name(StepKind kind) noexcept;
[[nodiscard]] constexpr bool is_receive(StepKind kind) noexcept {
    return kind == StepKind::receive || kind == StepKind::receive_reduce;
}
[[nodiscard]] constexpr bool is_message(StepKind kind) noexcept { return kind == StepKind::send || is_receive(kind); }
/// What travels: the range sent from, or the range that the message lands in.
[[nodiscard]] const Range& message_range(const Step& step) noexcept;

[[nodiscard]] std::string describe(const Range& range); ///< "scratch [0, 16)"
[[nodiscard]] std::string describe(const Step& step);   ///< "send output [0, 16) to rank 3"

} // namespace verbena::coll
