/// Random programs of overlapping puts, gets and atomics, on NICs that reorder what they may: in hazard mode the
/// outcome is that of running them one after another; in relaxed mode the same programs are caught.
#include "catch.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "msg/registrations.hpp"
#include "sim_job.hpp"

using namespace verbena;
using verbena::testing::SimJob;
using Kind = msg::OneSidedCall::Kind;

namespace {

constexpr std::size_t arena_bytes = 512;
constexpr std::uint32_t peers = 2;
constexpr int programs_a_job = 100;

/// Everything that the specification leaves open happens; and, on some, what adaptive routing adds.
std::vector<sim::Personality> personalities() {
    std::vector<sim::Personality> made(6);
    made[0] = sim::mlx5_like();
    made[1] = sim::mlx5_like();
    made[1].capabilities.ordered_writes = false;
    made[1].max_write_delay_ns = 4000;
    made[2] = sim::rdm_like();
    made[3] = sim::rdm_like();
    made[3].capabilities.native_fence = made[3].capabilities.ordered_writes = false;
    made[3].max_write_delay_ns = 4000;
    made[4] = sim::mlx5_like();
    made[4].capabilities.atomics = false;
    made[5] = sim::adversary();
    return made;
}

using Arena = std::vector<std::uint64_t>;

std::byte* bytes_of(Arena& arena) { return reinterpret_cast<std::byte*>(arena.data()); }

/// What the program did, one step after another.
struct Model {
    Arena local = Arena(arena_bytes / 8);
    std::vector<Arena> remote = std::vector<Arena>(peers, Arena(arena_bytes / 8));
};

struct Bench {
    SimJob job;
    Arena local = Arena(arena_bytes / 8);
    std::vector<Arena> remote = std::vector<Arena>(peers, Arena(arena_bytes / 8));
    std::unique_ptr<msg::Engine::Registration> here;
    std::vector<std::unique_ptr<msg::Engine::Registration>> there;
    std::vector<RemoteRegion> regions;

    Bench(std::uint64_t seed, const sim::Personality& nic, const msg::EngineOptions& options, bool registered)
        : job(1 + peers, seed, nic, options) {
        const Access rights = Access::remote_read | Access::remote_write | Access::remote_atomic;
        if (registered) {
            here = job[0].register_memory({bytes_of(local), arena_bytes}, Access::local_write);
        }
        for (std::uint32_t peer = 0; peer < peers; ++peer) {
            there.push_back(
                job[1 + peer].register_memory({bytes_of(remote[peer]), arena_bytes}, Access::local_write | rights));
            regions.push_back(there.back()->remote(rights));
        }
    }
};

/// One step: starts it on the bench and does it in the model.
msg::OperationId step(Bench& bench, Model& model, std::mt19937_64& random) {
    const auto pick = [&](std::uint64_t below) { return static_cast<std::uint32_t>(random() % below); };
    const std::uint32_t peer = pick(4) == 0 ? 1 : 0;
    msg::OneSidedCall call;
    call.kind = static_cast<Kind>(pick(5));
    call.region = &bench.regions[peer];
    std::byte* const local = bytes_of(model.local);
    std::byte* const remote = bytes_of(model.remote[peer]);
    if (call.kind == Kind::put || call.kind == Kind::get) {
        // A few places, so that they meet; up to a slot's buffer and beyond.
        const std::size_t length = pick(3) == 0 ? 100 + pick(200) : 1 + pick(40);
        const std::size_t at = pick(arena_bytes - length + 1) / 16 * 16;
        call.offset = pick(arena_bytes - length + 1) / 16 * 16;
        call.local = {bytes_of(bench.local) + at, length};
        if (call.kind == Kind::get) {
            std::memcpy(local + at, remote + call.offset, length);
        } else {
            std::memcpy(remote + call.offset, local + at, length);
            if (pick(3) == 0) {
                call.signal = &bench.regions[peer];
                call.signal_offset = pick(arena_bytes / 8) * 8;
                call.signal_value = random();
                std::memcpy(remote + call.signal_offset, &call.signal_value, 8);
            }
        }
    } else {
        call.offset = pick(arena_bytes / 8) * 8;
        call.operand = random();
        call.compare = model.remote[peer][call.offset / 8] + pick(2);
        const std::size_t result = pick(arena_bytes / 8);
        call.before = &bench.local[result];
        std::uint64_t& word = model.remote[peer][call.offset / 8];
        const std::uint64_t before = word;
        if (call.kind == Kind::fetch_add) word += call.operand;
        if (call.kind == Kind::swap) word = call.operand;
        if (call.kind == Kind::compare_and_swap && before == call.compare) word = call.operand;
        model.local[result] = before;
    }
    return bench.job[0].one_sided(1 + peer, call);
}

/// How many of the job's programs came out as the model says.
int programs_in_order(std::uint64_t seed, Ordering ordering) {
    static const std::vector<sim::Personality> nics = personalities();
    std::mt19937_64 random(seed);
    msg::EngineOptions options;
    options.ordering = ordering;
    options.eager_limit = 64;
    options.send_depth = 2 + static_cast<std::uint32_t>(random() % 30);
    options.watched_operations = random() % 4 == 0 ? 3 : 64;
    const sim::Personality& nic = nics[random() % nics.size()];
    Bench bench(seed, nic, options, random() % 2 == 0);
    INFO(nic.name);
    int in_order = 0;
    for (int program = 0; program < programs_a_job; ++program) {
        CAPTURE(program);
        Model model;
        for (Arena* arena : {&bench.local, &bench.remote[0], &bench.remote[1]}) {
            for (auto& word : *arena) word = random();
        }
        model.local = bench.local;
        model.remote = bench.remote;
        std::vector<msg::OperationId> running;
        const int steps = 2 + static_cast<int>(random() % 8);
        for (int i = 0; i < steps; ++i) running.push_back(step(bench, model, random));
        for (std::uint32_t peer = 1; peer <= peers; ++peer) running.push_back(bench.job[0].flush(peer));
        for (const auto id : running) {
            const bool ended = bench.job.run_until_complete(0, id);
            CAPTURE(bench.job[0].describe(1).waiting_for, bench.job[0].describe(2).waiting_for);
            REQUIRE(ended);
            REQUIRE(bench.job[0].status(id).ok());
            bench.job[0].release(id);
        }
        if (bench.local == model.local && bench.remote == model.remote) ++in_order;
    }
    REQUIRE(bench.job[0].is_quiet());
    if (nic.faults.refuse_post == 0) REQUIRE(bench.job[0].describe(1).divergences == 0);
    return in_order;
}

} // namespace

TEST_CASE("no interleaving is ever visible in hazard mode, and relaxed mode shows what it hides") {
    // VERBENA_TEST_SEED runs one job of 100 programs again; VERBENA_TEST_SEEDS says how many programs.
    if (const char* one = std::getenv("VERBENA_TEST_SEED")) {
        CHECK(programs_in_order(std::strtoull(one, nullptr, 10), Ordering::hazard) == programs_a_job);
        return;
    }
    const char* many = std::getenv("VERBENA_TEST_SEEDS");
    const std::uint64_t programs = many != nullptr ? std::strtoull(many, nullptr, 10) : 10'000;
    const std::uint64_t first = std::random_device{}();
    const std::uint64_t jobs = (programs + programs_a_job - 1) / programs_a_job;
    for (std::uint64_t seed = first; seed < first + jobs; ++seed) {
        CAPTURE(seed);
        REQUIRE(programs_in_order(seed, Ordering::hazard) == programs_a_job);
    }
    int caught = 0;
    for (std::uint64_t seed = first; seed < first + std::min<std::uint64_t>(jobs, 50); ++seed) {
        CAPTURE(seed);
        caught += programs_a_job - programs_in_order(seed, Ordering::relaxed);
    }
    CAPTURE(caught);
    CHECK(caught > 100);
    for (std::uint64_t seed = first; seed < first + std::min<std::uint64_t>(jobs, 20); ++seed) {
        CAPTURE(seed);
        REQUIRE(programs_in_order(seed, Ordering::strict) == programs_a_job);
    }
}
