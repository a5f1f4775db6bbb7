#include "catch.hpp"

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "coll/blocks.hpp"
#include "coll/reduce.hpp"
#include "coll/selection.hpp"
#include "coll/shapes.hpp"
#include "group_job.hpp"

using namespace verbena;
using namespace verbena::coll;
using verbena::testing::GroupJob;

namespace {

constexpr DataType all_types[] = {DataType::i8,  DataType::u8,  DataType::i32, DataType::u32, DataType::i64,
                                  DataType::u64, DataType::f32, DataType::f64, DataType::f16, DataType::bf16};
constexpr ReduceOp all_ops[] = {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max, ReduceOp::avg};

using Memory = std::vector<std::byte>;

/// What a call is about, the same on every rank.
struct Task {
    Collective collective = Collective::all_reduce;
    std::string algorithm;
    DataType type = DataType::i32;
    ReduceOp op = ReduceOp::sum;
    std::size_t count = 0;
    std::uint32_t root = 0;
    std::vector<std::uint64_t> counts{}; ///< as in Plan
};

/// Lengths of the ranks' blocks, some of them empty; for operations without, none.
std::vector<std::uint64_t> some_counts(Collective collective, std::uint32_t ranks, std::uint64_t most,
                                       std::mt19937_64& random) {
    if (!takes_counts(collective)) return {};
    std::vector<std::uint64_t> counts(collective == Collective::all_to_all_v ? ranks * ranks : ranks);
    for (std::uint64_t& count : counts) count = random() % 4 == 0 ? 0 : random() % (most + 1);
    return counts;
}

/// Small whole numbers, which floats of every width hold exactly.
void fill(Memory& memory, DataType type, std::mt19937_64& random) {
    const std::size_t size = size_of(type);
    for (std::size_t at = 0; at < memory.size(); at += size) {
        const int value = static_cast<int>(random() % 5) - 2;
        const auto put = [&](auto element) { std::memcpy(memory.data() + at, &element, sizeof(element)); };
        if (type == DataType::f32)
            put(static_cast<float>(value));
        else if (type == DataType::f64)
            put(static_cast<double>(value));
        else if (type == DataType::f16)
            put(to_float16(static_cast<float>(value)));
        else if (type == DataType::bf16)
            put(to_bfloat16(static_cast<float>(value)));
        else
            put(static_cast<std::uint8_t>(random()));
    }
}

/// One call on every rank, its buffers, and what must come out of it by the definition of the collective.
class Case {
  public:
    Case(std::uint32_t ranks, const Task& task, bool in_place, std::mt19937_64& random) : task_(task), ranks_(ranks) {
        lists_.count = task.count;
        lists_.root = task.root;
        lists_.counts = task.counts;
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            const Extent extent = extent_of(task.collective, Shapes(lists_, ranks).of(rank));
            extents_.push_back(extent);
            inputs_.emplace_back(extent.input * size());
            fill(inputs_.back(), task.type, random);
            outputs_.emplace_back(extent.output * size(), std::byte{0x5a});
        }
        for (std::uint32_t rank = 0; rank < ranks; ++rank) expected_.push_back(expected(rank));
        originals_ = inputs_;
        if (!in_place) return;
        for (std::uint32_t rank = 0; rank < ranks; ++rank) share(rank);
    }

    std::vector<msg::OperationId> start(GroupJob& group) {
        std::vector<msg::OperationId> ids;
        for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
            const bool is_shared = !shared_.empty() && !shared_[rank].empty();
            std::byte* input =
                is_shared ? shared_[rank].data() + extents_[rank].input_at * size() : inputs_[rank].data();
            std::byte* output = is_shared ? output_within(rank) : outputs_[rank].data();
            if (extents_[rank].input == 0) input = nullptr;
            if (extents_[rank].output == 0) output = nullptr;
            const Shapes shapes(lists_, ranks_); // the lists are needed for the call alone
            const Shape shape = shapes.of(rank);
            ids.push_back(group.groups[rank]->start({task_.collective, input, output, task_.count, task_.type, task_.op,
                                                     task_.root, task_.algorithm, shape.counts, shape.receives}));
        }
        return ids;
    }

    [[nodiscard]] bool is_right() {
        for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
            const bool is_shared = !shared_.empty() && !shared_[rank].empty();
            const std::byte* output = is_shared ? output_within(rank) : outputs_[rank].data();
            if (!expected_[rank].empty() && std::memcmp(output, expected_[rank].data(), expected_[rank].size()) != 0)
                return false;
            if (!is_shared && inputs_[rank] != originals_[rank]) return false;
        }
        return true;
    }

  private:
    [[nodiscard]] std::size_t size() const { return size_of(task_.type); }
    [[nodiscard]] std::byte* output_within(std::uint32_t rank) {
        return shared_[rank].data() + extents_[rank].output_at * size();
    }
    void share(std::uint32_t rank) {
        const Extent& extent = extents_[rank];
        shared_.emplace_back();
        if (extent.input == 0 || extent.output == 0 || !extent.may_share) return;
        shared_[rank].assign(std::max(extent.input, extent.output) * size(), std::byte{0x5a});
        std::memcpy(shared_[rank].data() + extent.input_at * size(), inputs_[rank].data(), inputs_[rank].size());
    }

    /// Block `index` of what rank `from` puts in.
    [[nodiscard]] Memory block(std::uint32_t from, std::uint32_t index) const {
        const Shapes shapes(lists_, ranks_);
        const Blocks blocks(shapes.of(from));
        const auto begin = inputs_[from].begin() + static_cast<std::ptrdiff_t>(blocks.begin(index) * size());
        return {begin, begin + static_cast<std::ptrdiff_t>(blocks.count(index) * size())};
    }
    /// All that rank `from` puts in.
    [[nodiscard]] Memory whole(std::uint32_t from) const { return inputs_[from]; }
    [[nodiscard]] Memory reduced(std::uint32_t index, std::uint32_t end) const {
        Memory result = block(0, index);
        for (std::uint32_t rank = 1; rank < end; ++rank) {
            const Memory next = block(rank, index);
            const std::byte* operands[] = {result.data(), next.data()};
            coll::reduce(task_.type, task_.op, result.data(), operands, result.size() / size());
        }
        coll::finish(task_.type, task_.op, result.data(), result.size() / size(), ranks_);
        return result;
    }
    [[nodiscard]] Memory of_each(bool takes_all, std::uint32_t index) const {
        Memory all;
        for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
            const Memory next = takes_all ? whole(rank) : block(rank, index);
            all.insert(all.end(), next.begin(), next.end());
        }
        return all;
    }
    [[nodiscard]] Memory expected(std::uint32_t rank) const {
        const bool is_root = rank == task_.root;
        switch (task_.collective) {
        case Collective::barrier:
            return {};
        case Collective::all_reduce:
            return reduced(0, ranks_);
        case Collective::scan:
            return reduced(0, rank + 1);
        case Collective::exclusive_scan:
            return rank == 0 ? Memory{} : reduced(0, rank);
        case Collective::broadcast:
            return block(task_.root, 0);
        case Collective::reduce:
            return is_root ? reduced(0, ranks_) : Memory{};
        case Collective::reduce_scatter:
        case Collective::reduce_scatter_v:
            return reduced(rank, ranks_);
        case Collective::all_gather:
        case Collective::all_gather_v:
            return of_each(true, 0);
        case Collective::gather:
        case Collective::gather_v:
            return is_root ? of_each(true, 0) : Memory{};
        case Collective::scatter:
        case Collective::scatter_v:
            return block(task_.root, rank);
        case Collective::all_to_all:
        case Collective::all_to_all_v:
            return of_each(false, rank);
        }
        return {};
    }

    Plan lists_; ///< its count, root and counts
    Task task_;
    std::uint32_t ranks_;
    std::vector<Extent> extents_;
    std::vector<Memory> inputs_;
    std::vector<Memory> originals_;
    std::vector<Memory> outputs_;
    std::vector<Memory> shared_; ///< in place: both buffers; empty for a rank that uses one
    std::vector<Memory> expected_;
};

} // namespace

TEST_CASE("every collective gives what it is defined to, on 1 to 8 ranks of every provider") {
    const std::uint64_t seed = std::random_device{}();
    std::mt19937_64 random(seed);
    const auto* nic = GENERATE(as<const sim::Personality*>{}, &sim::mlx5_like(), &sim::rxe_like(), &sim::rdm_like());
    const auto ranks = static_cast<std::uint32_t>(GENERATE(range(1, 9)));
    GroupJob group(ranks, random(), *nic);
    for (const Algorithm& each : algorithms()) {
        if (!each.can_run(ranks)) continue;
        const std::size_t types = is_reduction(each.collective) ? std::size(all_types) : 2;
        for (std::size_t i = 0; i < types; ++i) {
            Task task{each.collective,
                      std::string(each.name),
                      all_types[(i + random() % 2) % std::size(all_types)],
                      all_ops[random() % std::size(all_ops)],
                      random() % 3 == 0 ? random() % 3 : random() % 3000,
                      has_root(each.collective) ? static_cast<std::uint32_t>(random() % ranks) : 0};
            if (types != 2) task.type = all_types[i];
            task.counts = some_counts(each.collective, ranks, 900, random);
            const bool is_scan = each.collective == Collective::scan || each.collective == Collective::exclusive_scan;
            if (is_scan && task.op == ReduceOp::avg) task.op = ReduceOp::max;
            const bool in_place = random() % 2 == 0;
            INFO(nic->name << ", " << ranks << " ranks, " << name(task.collective) << " " << task.algorithm << ", root "
                           << task.root << ", " << task.count << " " << name(task.type) << ", " << name(task.op)
                           << ", in place " << in_place << ", seed " << seed);
            Case run(ranks, task, in_place, random);
            REQUIRE(group.all_end_well(run.start(group)));
            CHECK(run.is_right());
        }
    }
}

TEST_CASE("every collective works with the smallest windows and queues, over a provider that refuses and reorders") {
    const std::uint64_t seed = std::random_device{}();
    std::mt19937_64 random(seed);
    const std::uint32_t window = GENERATE(1u, 2u, 7u);
    msg::EngineOptions options;
    options.receive_window = window;
    options.send_depth = window;
    options.eager_limit = 256;
    options.backlog_limit = 1; // a second waiting send is told would_block
    sim::FabricOptions fabric;
    fabric.faults.jitter_ns = 5000;
    fabric.faults.refuse_post = 0.05;
    const std::uint32_t ranks = GENERATE(4u, 5u);
    GroupJob group(ranks, random(), sim::mlx5_like(), options, fabric);
    for (const Algorithm& each : algorithms()) {
        if (!each.can_run(ranks)) continue;
        for (const std::size_t count : {std::size_t{1}, std::size_t{701}}) {
            const Task task{each.collective,
                            std::string(each.name),
                            DataType::i32,
                            ReduceOp::sum,
                            count,
                            has_root(each.collective) ? 2u : 0u,
                            some_counts(each.collective, ranks, count, random)};
            INFO("window " << window << ", " << ranks << " ranks, " << name(task.collective) << " " << task.algorithm
                           << ", " << count << " elements, seed " << seed);
            Case run(ranks, task, false, random);
            REQUIRE(group.all_end_well(run.start(group)));
            CHECK(run.is_right());
        }
    }
}

TEST_CASE("long buffers in many segments arrive whole") {
    std::mt19937_64 random(7);
    GroupJob group(3, 7);
    for (const Collective collective : {Collective::broadcast, Collective::reduce, Collective::reduce_scatter,
                                        Collective::all_gather, Collective::all_to_all}) {
        for (const std::string& algorithm : algorithm_names(collective)) {
            if (!algorithm_named(collective, algorithm, 4).can_run(3)) continue;
            const Task task{collective, algorithm, DataType::f32, ReduceOp::avg, (1u << 20) / 4 + 13, 0};
            INFO(name(collective) << " " << algorithm);
            Case run(3, task, true, random);
            REQUIRE(group.all_end_well(run.start(group)));
            CHECK(run.is_right());
        }
    }
}

TEST_CASE("a wrong call of any collective is refused before anything is sent") {
    GroupJob group(2, 23);
    std::vector<std::int32_t> values(64, 1);
    const auto call = [&](Collective collective, const void* input, void* output, std::size_t count,
                          std::uint32_t root = 0, const std::string& algorithm = "") {
        return group.groups[1]->start(
            {collective, input, output, count, DataType::i32, ReduceOp::sum, root, algorithm});
    };
    std::int32_t* const data = values.data();
    CHECK_THROWS_WITH(call(Collective::broadcast, data, data, 4, 2),
                      VERBENA_CONTAINS("broadcast: 2 is no rank: there are 2"));
    CHECK_THROWS_WITH(call(Collective::scatter, nullptr, nullptr, 4), VERBENA_CONTAINS("scatter: output is null"));
    CHECK_THROWS_WITH(call(Collective::gather, nullptr, nullptr, 4), VERBENA_CONTAINS("gather: input is null"));
    CHECK_THROWS_WITH(call(Collective::all_gather, data, data, 4),
                      VERBENA_CONTAINS("of 16 bytes and output") && VERBENA_CONTAINS("of 32 bytes overlap"));
    CHECK_THROWS_WITH(call(Collective::all_to_all, data, data, 4), VERBENA_CONTAINS("overlap"));
    CHECK_THROWS_WITH(call(Collective::all_to_all, data, data + 32, ~std::size_t{0} / 8),
                      VERBENA_CONTAINS("beyond the address space"));
    CHECK_THROWS_WITH(call(Collective::all_gather, data, data + 32, 4, 0, "pairwise"),
                      VERBENA_CONTAINS("no all_gather algorithm is called \"pairwise\""));
    try {
        (void)call(Collective::reduce_scatter, data, data, 4); // in place for rank 0, and this is rank 1
        FAIL("accepted");
    } catch (const Error& error) {
        CHECK_THAT(error.advice(), VERBENA_CONTAINS("in place output is input + 16 bytes"));
    }
    std::vector<std::int32_t> others(64, 2);
    const auto last = call(Collective::broadcast, nullptr, data, 4);
    REQUIRE(group.all_end_well({group.groups[0]->start({Collective::broadcast, others.data(), others.data(), 4,
                                                        DataType::i32, ReduceOp::sum, 0, ""}),
                                last}));
    CHECK(values[3] == 2);
    CHECK(values[4] == 1);
}

TEST_CASE("an all-to-all whose lists do not fit each other ends on every rank, with both lengths") {
    GroupJob group(3, 13);
    std::vector<std::int32_t> values(64, 1);
    std::vector<std::int32_t> others(64, 1);
    std::vector<msg::OperationId> ids;
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
        const std::vector<std::uint64_t> sends = {4, 4, rank == 1 ? 7u : 4u};
        const std::vector<std::uint64_t> receives = {4, 4, 4};
        ids.push_back(group.groups[rank]->start({Collective::all_to_all_v, values.data(), others.data(), 0,
                                                 DataType::i32, ReduceOp::sum, 0, "", sends, receives}));
    }
    REQUIRE(group.job.run_until([&] { return group.job[2].is_complete(ids[2]); }));
    CHECK(group.job[2].status(ids[2]).code == ErrorCode::invalid_argument);
    CHECK(group.job[2].status(ids[2]).source == 1);
    CHECK(group.groups[2]->failure() == "call #0: rank 1 sent more than 16 bytes to rank 2, which expects 16");
}

TEST_CASE("a reduction of the program's own is called for every element, in the order of ranks in a scan") {
    struct Pair {
        std::int64_t low;
        std::int64_t high;
    };
    UserReduction join{
        sizeof(Pair),
        [](const void* left, const void* right, void* result, std::size_t count, void* calls) {
            for (std::size_t i = 0; i < count; ++i) { // low of the left, high of the right
                const Pair joined{static_cast<const Pair*>(left)[i].low, static_cast<const Pair*>(right)[i].high};
                static_cast<Pair*>(result)[i] = joined;
            }
            *static_cast<std::size_t*>(calls) += count;
        },
        nullptr};
    std::size_t calls = 0;
    join.context = &calls;
    const std::string algorithm = GENERATE("recursive_doubling", "chain");
    GroupJob group(7, 3);
    std::vector<std::vector<Pair>> data(7, std::vector<Pair>(100));
    std::vector<msg::OperationId> ids;
    for (std::uint32_t rank = 0; rank < 7; ++rank) {
        for (std::int64_t i = 0; i < 100; ++i)
            data[rank][static_cast<std::size_t>(i)] = {rank * 1000 + i, rank * 1000 + i};
        ids.push_back(group.groups[rank]->start({Collective::scan,
                                                 data[rank].data(),
                                                 data[rank].data(),
                                                 100,
                                                 DataType::u8,
                                                 ReduceOp::sum,
                                                 0,
                                                 algorithm,
                                                 {},
                                                 {},
                                                 &join}));
    }
    REQUIRE(group.all_end_well(ids));
    CHECK(calls >= 600);
    for (std::uint32_t rank = 0; rank < 7; ++rank)
        CHECK((data[rank][9].low == 9 && data[rank][9].high == rank * 1000 + 9));
}

TEST_CASE("a prepared call is started again without a new plan") {
    GroupJob group(4, 5);
    std::vector<std::vector<std::int32_t>> data(4, std::vector<std::int32_t>(3000, 1));
    std::vector<Prepared> prepared;
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
        prepared.push_back(group.groups[rank]->prepare({Collective::all_reduce, data[rank].data(), data[rank].data(),
                                                        3000, DataType::i32, ReduceOp::sum, 0, "ring"}));
    }
    for (std::int32_t turn = 1; turn <= 5; ++turn) {
        std::vector<msg::OperationId> ids;
        for (std::uint32_t rank = 0; rank < 4; ++rank)
            ids.push_back(group.groups[rank]->start_prepared(prepared[rank]));
        REQUIRE(group.all_end_well(ids));
        for (const auto& of_rank : data) CHECK(of_rank == std::vector<std::int32_t>(3000, 1 << (2 * turn)));
    }
}

TEST_CASE("a plan of the user's runs like an algorithm, and ranks with different plans are told") {
    GroupJob group(3, 7);
    const bool differ = GENERATE(false, true);
    std::vector<std::vector<std::int32_t>> data(3, std::vector<std::int32_t>(30, 2));
    std::vector<msg::OperationId> ids;
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
        const bool is_other = differ && rank == 1;
        const auto maker = is_other ? rabenseifner_all_reduce : ring_all_reduce;
        const std::string text = write_plan({"mine", Collective::all_reduce, whole_plan(maker, {0, 3, 10, 0, 0}), 0});
        CHECK(group.groups[rank]->add_plan(text) == "mine");
        CHECK_THROWS_WITH(group.groups[rank]->add_plan(text), VERBENA_CONTAINS("is taken"));
        ids.push_back(group.groups[rank]->start({Collective::all_reduce, data[rank].data(), data[rank].data(), 30,
                                                 DataType::i32, ReduceOp::sum, 0, "mine"}));
    }
    if (!differ) {
        REQUIRE(group.all_end_well(ids));
        for (const auto& of_rank : data) CHECK(of_rank == std::vector<std::int32_t>(30, 6));
        return;
    }
    REQUIRE(group.job.run_until([&] { return group.job[0].is_complete(ids[0]); }));
    CHECK(group.job[0].status(ids[0]).source == 1);
    CHECK_THAT(group.groups[0]->failure(), VERBENA_CONTAINS("rank 1 calls") && VERBENA_CONTAINS("differs in: plan"));
}

TEST_CASE("ranks whose blocks differ in length get an error instead of wrong values") {
    GroupJob group(2, 13);
    std::vector<std::int32_t> values(64, 1);
    std::vector<std::int32_t> others(64, 1);
    const auto longer = group.groups[0]->start(
        {Collective::all_gather, values.data(), values.data() + 32, 8, DataType::i32, ReduceOp::sum, 0, "ring"});
    const auto shorter = group.groups[1]->start(
        {Collective::all_gather, others.data(), others.data() + 32, 4, DataType::i32, ReduceOp::sum, 0, "ring"});
    REQUIRE(group.job.run_until([&] { return group.job[0].is_complete(longer) && group.job[1].is_complete(shorter); }));
    CHECK(group.job[0].status(longer).code == ErrorCode::invalid_argument);
    CHECK(group.job[1].status(shorter).code == ErrorCode::invalid_argument);
}

TEST_CASE("a dead peer ends every collective that needs it") {
    for (const Algorithm& each : algorithms()) {
        INFO(name(each.collective) << " " << each.name);
        GroupJob group(2, 17);
        std::vector<std::int32_t> input(100'000, 1);
        std::vector<std::int32_t> output(100'000);
        // The survivor sends: to one that only receives no queue pair tells, that is left to the store.
        const bool comes_together = each.collective == Collective::reduce || each.collective == Collective::gather ||
                                    each.collective == Collective::gather_v;
        if (each.plan == double_tree_all_reduce) continue; // rank 0 is its root: it only receives at first
        const std::uint32_t root = comes_together ? 1 : 0;
        const std::vector<std::uint64_t> counts =
            takes_counts(each.collective) ? std::vector<std::uint64_t>{50'000, 50'000} : std::vector<std::uint64_t>{};
        const auto id = group.groups[0]->start({each.collective, input.data(), output.data(), 50'000, DataType::i32,
                                                ReduceOp::sum, root, each.name, counts, counts});
        group.job.fabric.kill(*group.job.devices[1]);
        REQUIRE(group.job.run_until([&] { return group.job[0].is_complete(id); }));
        CHECK(group.job[0].status(id).code == ErrorCode::peer_lost);
    }
}
