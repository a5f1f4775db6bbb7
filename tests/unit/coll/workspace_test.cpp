#include "catch.hpp"

#include <cstring>
#include <numeric>
#include <vector>

#include "coll/algorithms.hpp"
#include "coll/executor.hpp"
#include "coll/plan_cache.hpp"
#include "coll/reduce.hpp"
#include "sim_job.hpp"

using namespace verbena;
using namespace verbena::coll;
using verbena::testing::SimJob;

namespace {

/// Memory that the CPU is said not to reach: everything must go through the space.
class FarSpace final : public mem::Space {
  public:
    [[nodiscard]] MemoryKind kind() const noexcept override { return MemoryKind::device; }
    [[nodiscard]] bool is_host_accessible() const noexcept override { return false; }
    std::byte* allocate(std::size_t bytes, int) override {
        ++allocations;
        return new std::byte[bytes];
    }
    void release(std::byte* memory) noexcept override {
        ++releases;
        delete[] memory;
    }
    void copy(std::byte* destination, const std::byte* source, std::size_t bytes) override {
        ++copies;
        std::memmove(destination, source, bytes);
    }
    void reduce(DataType type, ReduceOp op, std::byte* output, std::span<const std::byte* const> inputs,
                std::size_t count) override {
        if (refuses) throw Error(ErrorCode::device_failed, "the kernel failed", {}, {Origin::cuda, 700, 0});
        ++reductions;
        coll::reduce(type, op, output, inputs, count);
    }
    void divide(DataType type, std::byte* values, std::size_t count, std::uint32_t divisor) override {
        ++divisions;
        coll::finish(type, ReduceOp::avg, values, count, divisor);
    }

    int allocations = 0;
    int releases = 0;
    int copies = 0;
    int reductions = 0;
    int divisions = 0;
    bool refuses = false;
};

/// Two ranks, one of them in far memory.
struct FarJob {
    FarSpace far;
    SimJob job{2, 31, sim::mlx5_like()};
    std::vector<std::shared_ptr<Team>> teams = {std::make_shared<Team>(Members::whole_job(0, 2), 1),
                                                std::make_shared<Team>(Members::whole_job(1, 2), 1)};
    std::uint32_t sequence = 0;

    std::vector<msg::OperationId> all_reduce(std::vector<std::vector<std::int32_t>>& values, ReduceOp op) {
        std::vector<msg::OperationId> ids;
        for (std::uint32_t rank = 0; rank < 2; ++rank) {
            const auto memory = reinterpret_cast<std::byte*>(values[rank].data());
            mem::Space& space = rank == 0 ? far : job.spaces.space(MemoryKind::host);
            const Call call{memory, memory, values[rank].size(), DataType::i32, op, 4, {}, {&space, 0}, sequence, 7};
            auto schedule = std::make_shared<const Schedule>(ring_all_reduce({rank, 2, values[rank].size(), 100}));
            ids.push_back(job[rank].start(std::make_unique<PlanTask>(job[rank], call, schedule, teams[rank])));
        }
        ++sequence;
        return ids;
    }
};

} // namespace

TEST_CASE("scratch is of the caller's kind of memory, allocated once and grown when needed") {
    FarJob run;
    for (const std::size_t count : {std::size_t{1000}, std::size_t{1000}, std::size_t{10}, std::size_t{1000}}) {
        std::vector<std::vector<std::int32_t>> values(2, std::vector<std::int32_t>(count, 3));
        const auto ids = run.all_reduce(values, ReduceOp::sum);
        REQUIRE((run.job.run_until_complete(0, ids[0]) && run.job.run_until_complete(1, ids[1])));
        CHECK(values[0] == std::vector<std::int32_t>(count, 6));
        CHECK(values[1] == values[0]);
        CHECK(run.far.allocations == 1);
    }
    CHECK(run.far.reductions > 0);
    CHECK(run.far.releases == 0);
}

TEST_CASE("an average in memory that the CPU cannot reach is divided there, in one piece") {
    FarJob run;
    const std::size_t count = (3u << 20) / 4 + 5;
    std::vector<std::vector<std::int32_t>> values(2, std::vector<std::int32_t>(count));
    std::iota(values[0].begin(), values[0].end(), -100);
    values[1] = values[0];
    const std::vector<std::int32_t> expected = values[0];
    const auto ids = run.all_reduce(values, ReduceOp::avg);
    REQUIRE((run.job.run_until_complete(0, ids[0]) && run.job.run_until_complete(1, ids[1])));
    CHECK(values[0] == expected);
    CHECK(values[1] == expected);
    CHECK(run.far.divisions == 1);
    CHECK(run.far.copies == 0);
}

TEST_CASE("a reduction that fails in its memory space ends the collective with its cause") {
    FarJob run;
    run.far.refuses = true;
    std::vector<std::vector<std::int32_t>> values(2, std::vector<std::int32_t>(1000, 1));
    const auto ids = run.all_reduce(values, ReduceOp::sum);
    REQUIRE(run.job.run_until_complete(0, ids[0]));
    const Status status = run.job[0].status(ids[0]);
    CHECK(status.code == ErrorCode::device_failed);
    CHECK(status.cause == Cause{Origin::cuda, 700, 0});
}

TEST_CASE("a failed collective takes its receives back, and its scratch is used again") {
    FarJob run;
    run.far.refuses = true;
    std::vector<std::vector<std::int32_t>> values(2, std::vector<std::int32_t>(1000, 1));
    const auto ids = run.all_reduce(values, ReduceOp::sum);
    REQUIRE(run.job.run_until_complete(0, ids[0]));
    const std::vector<std::int32_t> left = values[0];
    for (int step = 0; step < 10'000; ++step) run.job.step();
    CHECK(values[0] == left); // nothing arrives there any more
    CHECK(run.teams[0]->workspaces.abandoned() == 0);
    const std::unique_ptr<Workspace> again = run.teams[0]->workspaces.acquire(run.job[0], {&run.far, 0}, 1);
    CHECK(again->flights.empty());
    CHECK(run.far.allocations == 1);
}

TEST_CASE("a plan is made once, and the least recently used one makes room") {
    PlanCache plans;
    const auto ring = ring_all_reduce;
    const auto get = [&](PlanCache::Maker maker, std::uint64_t count, std::uint64_t segment, std::uint32_t root = 0) {
        return plans.get(maker, {0, 4, count, segment, root});
    };
    const auto first = get(ring, 1, 0);
    CHECK(get(ring, 1, 0) == first);
    CHECK(get(recursive_doubling_all_reduce, 1, 0) != first);
    CHECK(get(ring, 1, 7) != first);
    CHECK(get(ring, 1, 0, 2) != first);
    std::vector<std::uint64_t> lengths = {1, 2, 3, 4};
    const auto uneven = plans.get(ring_all_gather, {0, 4, 0, 0, 0, lengths});
    CHECK(plans.get(ring_all_gather, {0, 4, 0, 0, 0, lengths}) == uneven);
    lengths[3] = 5;
    CHECK(plans.get(ring_all_gather, {0, 4, 0, 0, 0, lengths}) != uneven);
    const auto barrier = get(dissemination_barrier, 0, 0);
    for (std::uint64_t count = 2; count < 2 * PlanCache::capacity; ++count) {
        (void)get(ring, count, 0);
        CHECK(get(ring, 1, 0) == first); // used all the time
    }
    CHECK(plans.size() == PlanCache::capacity);
    CHECK(get(dissemination_barrier, 0, 0) != barrier);
}
