/// @file
/// A set of ranks.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace verbena::coll {

/// A bit a rank. A value; sets that meet are of one size.
class RankSet {
  public:
    RankSet() = default;
    explicit RankSet(std::uint32_t ranks) : words_((ranks + 63) / 64) {}

    void insert(std::uint32_t rank) noexcept { words_[rank / 64] |= std::uint64_t{1} << (rank % 64); }
    [[nodiscard]] bool contains(std::uint32_t rank) const noexcept {
        return ((words_[rank / 64] >> (rank % 64)) & 1) != 0;
    }
    void merge(const RankSet& other) noexcept {
        for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
    }
    /// The lowest rank below `ranks` that is in both, or `ranks`.
    [[nodiscard]] std::uint32_t first_common(const RankSet& other, std::uint32_t ranks) const noexcept {
        for (std::size_t i = 0; i < words_.size(); ++i) {
            if (const std::uint64_t both = words_[i] & other.words_[i]; both != 0) {
                return static_cast<std::uint32_t>(64 * i) + static_cast<std::uint32_t>(std::countr_zero(both));
            }
        }
        return ranks;
    }
    /// The lowest rank below `ranks` that is absent, or `ranks`.
    [[nodiscard]] std::uint32_t first_absent(std::uint32_t ranks) const noexcept {
        std::uint32_t rank = 0;
        while (rank < ranks && contains(rank)) ++rank;
        return rank;
    }
    [[nodiscard]] std::span<const std::uint64_t> words() const noexcept { return words_; }
    friend bool operator==(const RankSet&, const RankSet&) = default;

  private:
    std::vector<std::uint64_t> words_;
};

} // namespace verbena::coll
