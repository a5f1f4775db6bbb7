#include "catch.hpp"

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

#include "group_job.hpp"

using namespace verbena;
using verbena::testing::GroupJob;

namespace {

struct Wrong {
    std::uint32_t rank = 0;
    std::size_t offset = 0;
    std::uint32_t got = 0;
    std::size_t elements = 0; ///< over all ranks

    friend bool operator==(const Wrong&, const Wrong&) = default;
};

/// An all-reduce of four ranks in which one READ brings a damaged chunk; the first wrong element of the result.
std::optional<Wrong> reduce_with_damage(std::uint64_t seed, std::uint64_t read, const std::string& algorithm) {
    GroupJob group(4, seed);
    group.job.fabric.damage_read(read);
    constexpr std::size_t count = 40'000;
    std::vector<std::vector<std::uint32_t>> data(4, std::vector<std::uint32_t>(count));
    std::vector<std::uint32_t> expected(count);
    std::mt19937 random(1);
    for (auto& of_rank : data) {
        for (std::size_t i = 0; i < count; ++i) expected[i] += of_rank[i] = static_cast<std::uint32_t>(random());
    }
    std::vector<msg::OperationId> ids;
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
        ids.push_back(group.all_reduce(rank, data[rank].data(), data[rank].data(), count, DataType::u32, ReduceOp::sum,
                                       algorithm));
    }
    REQUIRE(group.all_end_well(ids)); // nothing below the check can know
    std::optional<Wrong> first;
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
        for (std::size_t i = 0; i < count; ++i) {
            if (data[rank][i] == expected[i]) continue;
            if (!first) first = Wrong{rank, i, data[rank][i], 0};
            ++first->elements;
        }
    }
    return first;
}

} // namespace

TEST_CASE("P50: one bit turned over in one chunk is found by comparing the result, and its seed finds it again") {
    const std::uint64_t seed = std::random_device{}();
    const std::string algorithm = GENERATE("ring", "recursive_doubling", "rabenseifner");
    for (const std::uint64_t read : {std::uint64_t{1}, std::uint64_t{7}}) {
        INFO(algorithm << ", READ " << read << ", seed " << seed);
        const std::optional<Wrong> found = reduce_with_damage(seed, read, algorithm);
        REQUIRE(found);
        CHECK(found->elements <= 4); // one element, on those ranks that took it over
        CHECK(reduce_with_damage(seed, read, algorithm) == found);
    }
    CHECK_FALSE(reduce_with_damage(seed, 0, algorithm));
}
