/// One-sided operations where the conformance suite cannot look: limits of the device, faults, two protocols at once.
#include "catch.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "msg/registrations.hpp"
#include "sim_job.hpp"

using namespace verbena;
using verbena::testing::SimJob;
using Kind = msg::OneSidedCall::Kind;

namespace {

constexpr Access everything = Access::local_write | Access::remote_read | Access::remote_write | Access::remote_atomic;

struct Exposed {
    std::vector<std::byte> memory;
    std::unique_ptr<msg::Engine::Registration> registration;
    RemoteRegion region;

    Exposed(msg::Engine& engine, std::size_t bytes)
        : memory(bytes),
          registration(engine.register_memory(memory, everything)),
          region(registration->remote(Access::remote_read | Access::remote_write | Access::remote_atomic)) {}
};

msg::OneSidedCall call_of(Kind kind, const RemoteRegion& region, std::span<std::byte> local = {}) {
    msg::OneSidedCall call;
    call.kind = kind;
    call.region = &region;
    call.local = local;
    return call;
}

std::vector<std::byte> content(std::size_t bytes) {
    std::vector<std::byte> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 31 + (i >> 9));
    return data;
}

Status end_of(SimJob& job, msg::OperationId id) {
    REQUIRE(job.run_until_complete(0, id));
    const Status status = job[0].status(id);
    job[0].release(id);
    return status;
}

sim::Personality without_rma() {
    sim::Personality made = sim::rdm_like();
    made.capabilities.rdma_read = made.capabilities.rdma_write = made.capabilities.atomics = false;
    return made;
}

} // namespace

TEST_CASE("a put and a get over the device's largest message are cut, with one completion each") {
    sim::Personality nic = GENERATE(0, 1) == 0 ? sim::mlx5_like() : sim::rdm_like();
    nic.capabilities.max_message_bytes = 1u << 20;
    msg::EngineOptions options;
    options.send_depth = GENERATE(1u, 128u);
    SimJob job(2, 5, nic, options);
    const std::size_t bytes = (3u << 20) + 4;
    auto source = content(bytes);
    Exposed target(job[1], bytes + 8);
    Exposed signal(job[1], 8);
    auto put = call_of(Kind::put, target.region, source);
    put.signal = &signal.region;
    put.signal_value = 7;
    const Status ended = end_of(job, job[0].one_sided(1, put));
    REQUIRE(ended.ok());
    CHECK(ended.bytes == bytes);
    REQUIRE(end_of(job, job[0].flush(1)).ok());
    CHECK(std::equal(source.begin(), source.end(), target.memory.begin()));
    CHECK(signal.memory[0] == std::byte{7});
    std::vector<std::byte> back(bytes);
    REQUIRE(end_of(job, job[0].one_sided(1, call_of(Kind::get, target.region, back))).ok());
    CHECK(back == source);
}

TEST_CASE("READs and atomics beyond what the connection takes wait here, and sends go past none of them") {
    SimJob job(2, 6, sim::mlx5_like());
    Exposed target(job[1], 4096);
    std::vector<std::vector<std::byte>> into(60, std::vector<std::byte>(64));
    std::vector<msg::OperationId> gets;
    for (auto& each : into) gets.push_back(job[0].one_sided(1, call_of(Kind::get, target.region, each)));
    CHECK(job[0].describe(1).waiting_for == "read depth");
    CHECK(job[0].describe(1).queued == 60 - 16);
    for (const auto get : gets) CHECK(end_of(job, get).ok());
    CHECK(job[0].is_quiet());
}

TEST_CASE("requests that want an answer share the peer's reply buffers with large messages") {
    sim::Personality nic = sim::mlx5_like();
    nic.capabilities.atomics = false;
    msg::EngineOptions options;
    options.receive_window = GENERATE(1u, 64u);
    SimJob job(2, 7, nic, options);
    Exposed counter(job[1], 8);
    std::vector<std::byte> large(30'000);
    std::vector<std::byte> into(30'000);
    std::vector<msg::OperationId> mine;
    std::vector<msg::OperationId> theirs;
    for (int i = 0; i < 40; ++i) {
        mine.push_back(job[0].send(1, 0, 1, large));
        auto add = call_of(Kind::fetch_add, counter.region);
        add.operand = 1;
        mine.push_back(job[0].one_sided(1, add));
    }
    for (int i = 0; i < 40; ++i) theirs.push_back(job[1].receive(0, 0, 1, into));
    for (const auto id : mine) REQUIRE(end_of(job, id).ok());
    for (const auto id : theirs) REQUIRE(job[1].is_complete(id));
    CHECK(counter.memory[0] == std::byte{40});
    CHECK(job[0].describe(1).divergences + job[1].describe(0).divergences == 0);
}

TEST_CASE("both ways at once, with refused posts and losses, every atomic counts once") {
    const auto seed = GENERATE(range(1u, 9u));
    CAPTURE(seed);
    const sim::Personality nics[] = {sim::mlx5_like(), sim::rxe_like(), sim::rdm_like(), without_rma(), sim::ud_like()};
    msg::EngineOptions options;
    options.receive_window = 1 + seed % 3;
    options.send_depth = 1 + seed % 5;
    sim::FabricOptions fabric;
    fabric.faults.jitter_ns = 2000;
    fabric.faults.refuse_post = 0.1;
    fabric.faults.drop = seed % 2 == 0 ? 0.02 : 0;
    SimJob job(2, seed, nics[seed % std::size(nics)], options, fabric);
    Exposed counters[] = {Exposed(job[0], 16), Exposed(job[1], 16)};
    std::vector<msg::OperationId> running[2];
    std::vector<std::uint64_t> before(200);
    for (std::uint32_t i = 0; i < 100; ++i) {
        for (std::uint32_t rank = 0; rank < 2; ++rank) {
            auto add = call_of(Kind::fetch_add, counters[1 - rank].region);
            add.offset = 8;
            add.operand = 1;
            add.before = &before[rank * 100 + i];
            running[rank].push_back(job[rank].one_sided(1 - rank, add));
        }
    }
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
        for (const auto id : running[rank]) {
            REQUIRE(job.run_until_complete(rank, id));
            REQUIRE(job[rank].status(id).ok());
        }
        CHECK(counters[1 - rank].memory[8] == std::byte{100});
        std::sort(before.begin() + rank * 100, before.begin() + rank * 100 + 100);
        for (std::uint64_t i = 0; i < 100; ++i) CHECK(before[rank * 100 + i] == i);
    }
}

TEST_CASE("a peer that answers what was not asked, or asks with a strange handle, changes nothing here") {
    SimJob job(2, 8, without_rma());
    Exposed target(job[1], 64);
    for (const std::uint64_t handle :
         {std::uint64_t{0}, std::uint64_t{1}, target.region.fields().handle + (std::uint64_t{1} << 32),
          target.region.fields().handle + 1, ~std::uint64_t{0}}) {
        RemoteRegion::Fields forged = target.region.fields();
        forged.handle = handle;
        forged.length = 1u << 20;
        const RemoteRegion region(forged);
        std::vector<std::byte> into(8, std::byte{1});
        CHECK(end_of(job, job[0].one_sided(1, call_of(Kind::get, region, into))).code == ErrorCode::refused);
        CHECK(into == std::vector<std::byte>(8, std::byte{1}));
    }
    RemoteRegion::Fields longer = target.region.fields();
    longer.length = 1u << 20;
    const RemoteRegion beyond(longer);
    std::vector<std::byte> bytes(65, std::byte{9});
    job[0].release(job[0].one_sided(1, call_of(Kind::put, beyond, bytes)));
    CHECK(end_of(job, job[0].flush(1)).code == ErrorCode::refused);
    CHECK(target.memory == std::vector<std::byte>(64));
    CHECK(end_of(job, job[0].flush(1)).ok()); // told once
}
