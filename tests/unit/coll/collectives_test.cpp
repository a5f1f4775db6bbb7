#include "catch.hpp"

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "coll/reduce.hpp"
#include "group_job.hpp"

using namespace verbena;
using verbena::testing::GroupJob;

namespace {

constexpr DataType all_types[] = {DataType::i8,  DataType::u8,  DataType::i32, DataType::u32, DataType::i64,
                                  DataType::u64, DataType::f32, DataType::f64, DataType::f16, DataType::bf16};
constexpr ReduceOp all_ops[] = {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max, ReduceOp::avg};

/// One all-reduce over every rank: buffers, and what must come out.
class Case {
  public:
    Case(std::uint32_t ranks, DataType type, ReduceOp op, std::size_t count, bool in_place, std::mt19937_64& random)
        : type_(type), op_(op), count_(count), in_place_(in_place) {
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            inputs_.emplace_back(count * size_of(type));
            fill(inputs_.back(), random);
            outputs_.emplace_back(in_place ? inputs_.back()
                                           : std::vector<std::byte>(count * size_of(type), std::byte{0x5a}));
        }
        expected_ = inputs_[0];
        for (std::uint32_t rank = 1; rank < ranks; ++rank) {
            const std::byte* operands[] = {expected_.data(), inputs_[rank].data()};
            coll::reduce(type, op, expected_.data(), operands, count);
        }
        coll::finish(type, op, expected_.data(), count, ranks);
        original_ = inputs_;
    }

    std::vector<msg::OperationId> start(GroupJob& group, const std::string& algorithm) {
        std::vector<msg::OperationId> ids;
        for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
            const std::byte* input = in_place_ ? outputs_[rank].data() : inputs_[rank].data();
            ids.push_back(group.all_reduce(rank, input, outputs_[rank].data(), count_, type_, op_, algorithm));
        }
        return ids;
    }
    [[nodiscard]] bool is_right() const {
        for (const auto& output : outputs_) {
            if (output != expected_) return false;
        }
        return inputs_ == original_; // an input that is not the output stays as it was
    }

  private:
    /// Small whole numbers: whatever the order of the operations, floats give the same.
    void fill(std::vector<std::byte>& memory, std::mt19937_64& random) const {
        for (std::size_t i = 0; i < count_; ++i) {
            const auto value = static_cast<int>(random() % 5) - 2;
            const auto put = [&](auto element) {
                std::memcpy(memory.data() + i * sizeof(element), &element, sizeof(element));
            };
            switch (type_) {
            case DataType::f32:
                put(static_cast<float>(value));
                break;
            case DataType::f64:
                put(static_cast<double>(value));
                break;
            case DataType::f16:
                put(to_float16(static_cast<float>(value)));
                break;
            case DataType::bf16:
                put(to_bfloat16(static_cast<float>(value)));
                break;
            default: {
                const std::uint64_t bits = random();
                std::memcpy(memory.data() + i * size_of(type_), &bits, size_of(type_));
            }
            }
        }
    }

    DataType type_;
    ReduceOp op_;
    std::size_t count_;
    bool in_place_;
    std::vector<std::vector<std::byte>> inputs_;
    std::vector<std::vector<std::byte>> original_;
    std::vector<std::vector<std::byte>> outputs_;
    std::vector<std::byte> expected_;
};

} // namespace

TEST_CASE("every type and operation is reduced rightly on 1 to 8 ranks, by every algorithm") {
    const std::uint64_t seed = std::random_device{}();
    std::mt19937_64 random(seed);
    const auto ranks = static_cast<std::uint32_t>(GENERATE(range(1, 9)));
    const std::string algorithm = GENERATE("", "ring", "recursive_doubling", "rabenseifner");
    GroupJob group(ranks, random());
    for (const DataType type : all_types) {
        for (const ReduceOp op : all_ops) {
            const std::size_t count = random() % 3 == 0 ? random() % 20 : random() % 5000;
            const bool in_place = random() % 2 == 0;
            INFO(ranks << " ranks, " << algorithm << ", " << count << " " << name(type) << ", " << name(op)
                       << ", in place " << in_place << ", seed " << seed);
            Case reduction(ranks, type, op, count, in_place, random);
            REQUIRE(group.all_end_well(reduction.start(group, algorithm)));
            CHECK(reduction.is_right());
        }
    }
}

TEST_CASE("collectives work with the smallest windows and queues, over a provider that refuses and reorders") {
    const std::uint64_t seed = std::random_device{}();
    std::mt19937_64 random(seed);
    const auto* nic =
        GENERATE(as<const sim::Personality*>{}, &sim::mlx5_like(), &sim::rxe_like(), &sim::rdm_like(), &sim::ud_like());
    const std::uint32_t window = GENERATE(1u, 2u, 7u);
    msg::EngineOptions options;
    options.receive_window = window;
    options.send_depth = window;
    options.eager_limit = 256;
    options.backlog_limit = 1; // a second waiting send is told would_block
    sim::FabricOptions fabric;
    fabric.faults.jitter_ns = 5000;
    fabric.faults.refuse_post = 0.05;
    GroupJob group(5, random(), *nic, options, fabric);
    for (const std::string algorithm : {"ring", "recursive_doubling", "rabenseifner"}) {
        for (const std::size_t count : {std::size_t{1}, std::size_t{64}, std::size_t{3001}}) {
            INFO(nic->name << ", window " << window << ", " << algorithm << ", " << count << " elements, seed "
                           << seed);
            Case reduction(5, DataType::i32, ReduceOp::sum, count, false, random);
            REQUIRE(group.all_end_well(reduction.start(group, algorithm)));
            CHECK(reduction.is_right());
        }
    }
}

TEST_CASE("a ring in many segments is reduced rightly") {
    std::mt19937_64 random(7);
    GroupJob group(2, 7);
    Case reduction(2, DataType::f32, ReduceOp::avg, (5u << 20) / 4 + 13, false, random);
    REQUIRE(group.all_end_well(reduction.start(group, "ring")));
    CHECK(reduction.is_right());
}

TEST_CASE("collectives that run at once do not touch each other") {
    const std::uint64_t seed = std::random_device{}();
    std::mt19937_64 random(seed);
    GroupJob group(4, seed);
    for (int round = 0; round < 3; ++round) {
        std::vector<Case> cases;
        std::vector<std::vector<msg::OperationId>> ids;
        for (std::size_t i = 0; i < 8; ++i)
            cases.emplace_back(4, DataType::u32, ReduceOp::sum, 1 + random() % 4000, i % 2 == 0, random);
        for (std::size_t i = 0; i < cases.size(); ++i)
            ids.push_back(cases[i].start(group, i % 3 == 0 ? "ring" : "recursive_doubling"));
        for (std::size_t i = cases.size(); i-- > 0;) {
            INFO("collective " << i << ", round " << round << ", seed " << seed);
            REQUIRE(group.all_end_well(ids[i]));
            CHECK(cases[i].is_right());
        }
    }
}

TEST_CASE("every rank gets the same bits, whatever rounding and signs of zero do") {
    const std::uint64_t seed = std::random_device{}();
    std::mt19937_64 random(seed);
    const ReduceOp op = GENERATE(ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max, ReduceOp::avg);
    const std::string algorithm = GENERATE("ring", "recursive_doubling", "rabenseifner");
    const auto ranks = static_cast<std::uint32_t>(GENERATE(2, 3, 6, 8));
    GroupJob group(ranks, seed);
    std::vector<std::vector<float>> values(ranks, std::vector<float>(500));
    for (auto& of_rank : values) {
        for (float& value : of_rank) {
            value = std::uniform_real_distribution<float>(-10, 10)(random);
            if (random() % 2 == 0) value = random() % 2 == 0 ? 0.0F : -0.0F;
        }
    }
    std::vector<msg::OperationId> ids;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        ids.push_back(
            group.all_reduce(rank, values[rank].data(), values[rank].data(), 500, DataType::f32, op, algorithm));
    }
    REQUIRE(group.all_end_well(ids));
    INFO(name(op) << ", " << algorithm << ", " << ranks << " ranks, seed " << seed);
    for (const auto& of_rank : values) CHECK(std::memcmp(of_rank.data(), values[0].data(), 500 * sizeof(float)) == 0);
}

TEST_CASE("no rank leaves a barrier before the last has entered it") {
    const auto ranks = static_cast<std::uint32_t>(GENERATE(1, 2, 3, 5, 8));
    GroupJob group(ranks, 11);
    for (std::uint32_t last = 0; last < ranks; ++last) {
        std::vector<msg::OperationId> ids(ranks);
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            if (rank != last) ids[rank] = group.groups[rank]->start({});
        }
        for (int step = 0; step < 500; ++step) group.job.step();
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            if (rank != last) CHECK_FALSE(group.job[rank].is_complete(ids[rank]));
        }
        ids[last] = group.groups[last]->start({});
        CHECK(group.all_end_well(ids));
    }
}

TEST_CASE("ranks whose counts differ get an error instead of wrong values") {
    const std::string algorithm = GENERATE("ring", "recursive_doubling", "rabenseifner");
    GroupJob group(2, 13);
    std::vector<std::int32_t> values(16, 1);
    const auto longer = group.all_reduce(0, values.data(), values.data(), 8, DataType::i32, ReduceOp::sum, algorithm);
    std::vector<std::int32_t> others(16, 1);
    const auto shorter = group.all_reduce(1, others.data(), others.data(), 4, DataType::i32, ReduceOp::sum, algorithm);
    REQUIRE(group.job.run_until([&] { return group.job[0].is_complete(longer) && group.job[1].is_complete(shorter); }));
    CHECK(group.job[0].status(longer).code == ErrorCode::invalid_argument);
    CHECK(group.job[1].status(shorter).code == ErrorCode::invalid_argument);
}

TEST_CASE("a dead peer ends the collectives that need it, and later ones") {
    const std::string algorithm = GENERATE("ring", "recursive_doubling", "rabenseifner");
    GroupJob group(2, 17);
    std::vector<std::int32_t> values(100'000, 1);
    const auto running =
        group.all_reduce(0, values.data(), values.data(), values.size(), DataType::i32, ReduceOp::sum, algorithm);
    const auto beside = group.groups[0]->start({});
    group.job.fabric.kill(*group.job.devices[1]);
    REQUIRE(group.job.run_until([&] { return group.job[0].is_complete(running) && group.job[0].is_complete(beside); }));
    CHECK(group.job[0].status(running).code == ErrorCode::peer_lost);
    CHECK(group.job[0].status(beside).code == ErrorCode::peer_lost);
    const auto later = group.groups[0]->start({});
    CHECK(group.job[0].status(later).code == ErrorCode::peer_lost);
}

TEST_CASE("an engine may end running collectives after their group is gone") {
    GroupJob group(3, 19);
    std::vector<std::int32_t> values(100'000, 1);
    group.job[0].release(
        group.all_reduce(0, values.data(), values.data(), values.size(), DataType::i32, ReduceOp::sum));
    group.job.step();
    group.groups.clear();
    group.job.engines.clear();
    SUCCEED("nothing dangles: run under the address sanitizer");
}

TEST_CASE("a wrong call is refused before anything is sent, and the next one still matches") {
    GroupJob group(2, 23);
    std::vector<std::int32_t> values(8, 1);
    const auto call = [&](const void* input, void* output, std::size_t count, const std::string& algorithm) {
        return group.all_reduce(0, input, output, count, DataType::i32, ReduceOp::sum, algorithm);
    };
    CHECK_THROWS_WITH(call(nullptr, values.data(), 4, ""), VERBENA_CONTAINS("input is null, 4 elements of i32"));
    CHECK_THROWS_WITH(call(values.data(), nullptr, 4, ""), VERBENA_CONTAINS("output is null"));
    CHECK_THROWS_WITH(call(values.data(), values.data() + 1, 4, ""),
                      VERBENA_CONTAINS("overlap in part: 4 bytes apart, 16 bytes long"));
    CHECK_THROWS_WITH(call(values.data(), values.data(), ~std::size_t{0} / 2, ""),
                      VERBENA_CONTAINS("beyond the address space"));
    CHECK_THROWS_WITH(call(values.data(), values.data(), 4, "tree"), VERBENA_CONTAINS("\"tree\""));
    std::vector<std::int32_t> others(8, 2);
    REQUIRE(
        group.all_end_well({call(values.data(), values.data() + 4, 4, ""),
                            group.all_reduce(1, others.data(), others.data() + 4, 4, DataType::i32, ReduceOp::sum)}));
    CHECK(values == std::vector<std::int32_t>{1, 1, 1, 1, 3, 3, 3, 3});
    CHECK(others == std::vector<std::int32_t>{2, 2, 2, 2, 3, 3, 3, 3});
}
