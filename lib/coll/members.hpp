/// @file
/// Which ranks of the job make up a group. A value.
#pragma once

#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace verbena::coll {

/// A group counts its ranks from 0; the job has its own numbers for them.
class Members {
  public:
    /// `job_ranks` by rank of the group; `own` is this process's rank of the group.
    Members(std::vector<std::uint32_t> job_ranks, std::uint32_t own) noexcept
        : job_ranks_(std::move(job_ranks)), own_(own) {}

    [[nodiscard]] static Members whole_job(std::uint32_t rank, std::uint32_t ranks) {
        std::vector<std::uint32_t> all(ranks);
        std::iota(all.begin(), all.end(), 0U);
        return {std::move(all), rank};
    }

    [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(job_ranks_.size()); }
    [[nodiscard]] std::uint32_t own() const noexcept { return own_; }
    [[nodiscard]] std::uint32_t job_rank(std::uint32_t rank) const noexcept { return job_ranks_[rank]; }
    [[nodiscard]] const std::vector<std::uint32_t>& job_ranks() const noexcept { return job_ranks_; }
    [[nodiscard]] std::optional<std::uint32_t> rank_of(std::uint32_t job_rank) const noexcept {
        if (job_rank < job_ranks_.size() && job_ranks_[job_rank] == job_rank) return job_rank;
        for (std::uint32_t rank = 0; rank < size(); ++rank) {
            if (job_ranks_[rank] == job_rank) return rank;
        }
        return std::nullopt;
    }

  private:
    std::vector<std::uint32_t> job_ranks_;
    std::uint32_t own_;
};

} // namespace verbena::coll
