#include "catch.hpp"

#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <random>
#include <vector>

#include "sim_job.hpp"

using namespace verbena;
using verbena::testing::SimJob;

namespace {

/// One message that was sent: its bytes are a function of (from, to, tag, number), so a receive knows what to expect.
std::vector<std::byte> content(std::uint64_t identity, std::size_t bytes) {
    std::vector<std::byte> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(identity * 31 + i * 7 + (i >> 6));
    return data;
}

struct Sent {
    std::vector<std::byte> data;
    msg::OperationId id;
};

struct Awaited {
    std::uint64_t identity;
    std::size_t bytes;
    std::vector<std::byte> buffer;
    msg::OperationId id;
};

/// Random sends and receives between all pairs; every message arrives once, whole and in order per pair and tag.
void run(std::uint64_t seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const auto pick = [&](std::uint64_t below) { return static_cast<std::uint32_t>(random() % below); };
    const sim::Personality* kinds[] = {&sim::mlx5_like(), &sim::rxe_like(), &sim::rdm_like(), &sim::ud_like()};
    msg::EngineOptions options;
    options.receive_window = 1 + pick(20);
    options.send_depth = 1 + pick(20);
    options.eager_limit = 64 + pick(5000);
    options.inline_limit = pick(300);
    options.unexpected_limit = pick(2) == 0 ? 0 : 10'000;
    sim::FabricOptions fabric;
    fabric.faults.jitter_ns = pick(3) * 1000;
    fabric.faults.refuse_post = pick(2) * 0.05;
    fabric.faults.drop = pick(4) == 0 ? 0.01 : 0;
    fabric.faults.duplicate = pick(3) * 0.02; // of ud_like alone, as is the next
    fabric.faults.reorder = pick(3) * 0.1;
    const std::uint32_t ranks = 2 + pick(4);
    SimJob job(ranks, seed, *kinds[pick(4)], options, fabric);

    std::map<std::uint64_t, std::uint64_t> sent_count;
    std::map<std::uint64_t, std::uint64_t> received_count;
    std::map<std::uint64_t, std::size_t> length_of;
    std::deque<Sent> sent;
    std::deque<std::pair<std::uint32_t, Awaited>> awaited;
    std::vector<std::uint64_t> backlog; // (from, to, tag) of messages that still need a receive
    constexpr int messages = 150;
    int started = 0;
    int finished = 0;
    std::uint64_t steps = 0;
    while (finished < messages) {
        REQUIRE(++steps < 3'000'000);
        if (started < messages && pick(3) == 0) {
            const std::uint32_t from = pick(ranks);
            const std::uint32_t to = pick(ranks);
            const std::uint64_t route = (from * 64u + to) * 4u + pick(3);
            const std::uint64_t identity = route * 1000 + sent_count[route]++;
            const std::size_t bytes = pick(4) == 0 ? pick(60'000) : pick(600);
            length_of[identity] = bytes;
            auto& entry = sent.emplace_back(Sent{content(identity, bytes), {}});
            entry.id = job[from].send(to, 0, route, entry.data);
            backlog.push_back(route);
            ++started;
        }
        if (!backlog.empty() && (pick(3) == 0 || started == messages)) {
            const std::size_t which = pick(backlog.size());
            const std::uint64_t route = backlog[which];
            backlog.erase(backlog.begin() + static_cast<std::ptrdiff_t>(which));
            const std::uint64_t identity = route * 1000 + received_count[route]++;
            const auto from = static_cast<std::uint32_t>(route / 4 / 64);
            const auto to = static_cast<std::uint32_t>(route / 4 % 64);
            const std::size_t bytes = length_of[identity];
            auto& entry =
                awaited.emplace_back(to, Awaited{identity, bytes, std::vector<std::byte>(bytes + pick(10)), {}});
            entry.second.id = job[to].receive(from, 0, route, entry.second.buffer);
        }
        job.step();
        for (auto entry = awaited.begin(); entry != awaited.end();) {
            auto& [rank, receive] = *entry;
            if (!job[rank].is_complete(receive.id)) {
                ++entry;
                continue;
            }
            REQUIRE(job[rank].status(receive.id).ok());
            REQUIRE(job[rank].status(receive.id).bytes == receive.bytes);
            receive.buffer.resize(receive.bytes);
            REQUIRE(receive.buffer == content(receive.identity, receive.bytes));
            job[rank].release(receive.id);
            entry = awaited.erase(entry);
            ++finished;
        }
    }
    REQUIRE(job.run_until([&] {
        for (const auto& engine : job.engines) {
            if (!engine->is_quiet()) return false;
        }
        return true;
    }));
}

} // namespace

TEST_CASE("random traffic arrives once, whole and in order, at any depth, window, limit and fault") {
    // VERBENA_TEST_SEED runs one seed again; VERBENA_TEST_SEEDS says how many.
    if (const char* one = std::getenv("VERBENA_TEST_SEED")) {
        run(std::strtoull(one, nullptr, 10));
        return;
    }
    const char* many = std::getenv("VERBENA_TEST_SEEDS");
    const std::uint64_t seeds = many != nullptr ? std::strtoull(many, nullptr, 10) : 60;
    const std::uint64_t first = std::random_device{}();
    for (std::uint64_t seed = first; seed < first + seeds; ++seed) run(seed);
}
