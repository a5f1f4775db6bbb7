#include "coll/contents.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace verbena::coll {
namespace {

/// The part of `segment` within [begin, end), or one with count 0.
Segment clip(const Segment& segment, std::uint64_t begin, std::uint64_t end) {
    const std::uint64_t from = std::max(segment.offset, begin);
    const std::uint64_t to = std::min(segment.offset + segment.count, end);
    if (from >= to) return {};
    return {from, to - from, segment.element + (from - segment.offset), segment.contributors};
}

/// Joins what continues the last one, so that the number of segments follows the contents, not the history.
void append(Segments& segments, Segment next) {
    if (next.count == 0) return;
    if (!segments.empty()) {
        Segment& last = segments.back();
        if (last.offset + last.count == next.offset && last.element + last.count == next.element &&
            last.contributors == next.contributors) {
            last.count += next.count;
            return;
        }
    }
    segments.push_back(std::move(next));
}

} // namespace

Segments Contents::read(std::uint64_t offset, std::uint64_t count) const {
    Segments found;
    const auto [first, last] = touched(offset, offset + count);
    for (std::size_t i = first; i < last; ++i) {
        Segment piece = clip(segments_[i], offset, offset + count);
        piece.offset -= offset;
        append(found, std::move(piece));
    }
    return found;
}

void Contents::write(std::uint64_t offset, std::uint64_t count, const Segments& segments) {
    if (count == 0) return;
    constexpr std::uint64_t everywhere = ~std::uint64_t{0};
    const auto [first, last] = touched(offset, offset + count);
    Segments replaced;
    if (first < last) append(replaced, clip(segments_[first], 0, offset));
    for (Segment segment : segments) {
        segment.offset += offset;
        append(replaced, std::move(segment));
    }
    if (first < last) append(replaced, clip(segments_[last - 1], offset + count, everywhere));
    const auto at = segments_.erase(segments_.begin() + first, segments_.begin() + last);
    segments_.insert(at, std::make_move_iterator(replaced.begin()), std::make_move_iterator(replaced.end()));
}

std::pair<std::size_t, std::size_t> Contents::touched(std::uint64_t begin, std::uint64_t end) const {
    const auto first = std::partition_point(segments_.begin(), segments_.end(), [begin](const Segment& segment) {
        return segment.offset + segment.count <= begin;
    });
    const auto last =
        std::partition_point(first, segments_.end(), [end](const Segment& segment) { return segment.offset < end; });
    return {static_cast<std::size_t>(first - segments_.begin()), static_cast<std::size_t>(last - segments_.begin())};
}

std::uint64_t first_gap(const Segments& segments, std::uint64_t count) noexcept {
    std::uint64_t covered = 0;
    for (const Segment& segment : segments) {
        if (segment.offset != covered) return covered;
        covered += segment.count;
    }
    return std::min(covered, count);
}

Segments combine(const Segments& left, const Segments& right, std::uint32_t ranks, std::string& problem) {
    Segments result;
    std::size_t i = 0;
    std::size_t j = 0;
    std::uint64_t at = 0;
    while (i < left.size() && j < right.size()) {
        const std::uint64_t end = std::min(left[i].offset + left[i].count, right[j].offset + right[j].count);
        Segment a = clip(left[i], at, end);
        const Segment b = clip(right[j], at, end);
        if (a.element != b.element) {
            problem = fmt::format("element {} would be reduced with element {}", a.element, b.element);
            return {};
        }
        if (const std::uint32_t twice = a.contributors.first_common(b.contributors, ranks); twice != ranks) {
            problem = fmt::format("rank {}'s contribution to element {} would count twice", twice, a.element);
            return {};
        }
        a.contributors.merge(b.contributors);
        append(result, std::move(a));
        at = end;
        if (left[i].offset + left[i].count == end) ++i;
        if (right[j].offset + right[j].count == end) ++j;
    }
    return result;
}

} // namespace verbena::coll
