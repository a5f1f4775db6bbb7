/// @file
/// A simulated job with a group over all of its ranks.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "coll/collectives.hpp"
#include "sim_job.hpp"

namespace verbena::testing {

/// A job whose ranks all take part in one group.
struct GroupJob {
    SimJob job;
    std::vector<std::unique_ptr<coll::Collectives>> groups;

    GroupJob(std::uint32_t ranks, std::uint64_t seed, const sim::Personality& personality = sim::mlx5_like(),
             const msg::EngineOptions& options = {}, const sim::FabricOptions& fabric = {},
             std::chrono::nanoseconds limit = std::chrono::seconds(60))
        : job(ranks, seed, personality, options, fabric) {
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            groups.push_back(std::make_unique<coll::Collectives>(job[rank], msg::Context{1},
                                                                 coll::Members::whole_job(rank, ranks), limit));
        }
        job.after_step = [this] {
            ++steps;
            for (const auto& group : groups) group->tick(now());
        };
    }
    GroupJob(const GroupJob&) = delete;
    GroupJob& operator=(const GroupJob&) = delete;

    /// The fabric's time stands still while nothing is on its way; a job's does not.
    [[nodiscard]] std::chrono::nanoseconds now() const {
        return std::chrono::nanoseconds(job.fabric.now()) + std::chrono::microseconds(steps);
    }

    std::uint64_t steps = 0;
    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(groups.size()); }

    msg::OperationId all_reduce(std::uint32_t rank, const void* input, void* output, std::size_t count, DataType type,
                                ReduceOp op, std::string_view algorithm = {}) {
        return groups[rank]->start({Collective::all_reduce, input, output, count, type, op, 0, algorithm});
    }

    /// Waits for one operation of each rank; true when all have ended well.
    bool all_end_well(const std::vector<msg::OperationId>& ids) {
        if (!job.run_until([&] {
                for (std::uint32_t rank = 0; rank < ids.size(); ++rank) {
                    if (!job[rank].is_complete(ids[rank])) return false;
                }
                return true;
            })) {
            return false;
        }
        bool good = true;
        for (std::uint32_t rank = 0; rank < ids.size(); ++rank) {
            good = good && job[rank].status(ids[rank]).ok();
            job[rank].release(ids[rank]);
        }
        return good;
    }
};

} // namespace verbena::testing
