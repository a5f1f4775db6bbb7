/// What may be seen out of order, and what a fence does about it.
#include "rig.hpp"

#include <array>

using namespace verbena;
using namespace verbena::sim;
using conformance::Buffer;
using conformance::request;
using wire::Opcode;

namespace {

/// READ the peer's bytes, then WRITE others to the same place: did the READ see the WRITE?
bool read_is_overtaken(const Personality& personality, std::uint64_t seed, std::uint8_t write_flags) {
    RigOptions options;
    options.personality = personality;
    options.seed = seed;
    Rig rig(options);
    Buffer fetched(*rig.pair.a, 64);
    Buffer source(*rig.pair.a, 64);
    Buffer remote(*rig.pair.b, 64);
    remote.fill(1);
    source.fill(2);
    const std::array into{fetched.sge()};
    const std::array from{source.sge()};
    rig.link.a.post(request(1, Opcode::rdma_read, into, remote.remote()));
    rig.link.a.post(request(2, Opcode::rdma_write, from, remote.remote(), write_flags));
    rig.settle();
    REQUIRE(rig.link.a.sent.size() == 2);
    CHECK(rig.link.a.sent[0].status == wire::CompletionStatus::success);
    if (rig.pair.a->capabilities().connected) CHECK(rig.link.a.sent[0].wr_id == 1); // whatever happened over there
    CHECK(remote.holds(2));
    const bool overtaken = fetched.holds(2);
    CHECK((overtaken || fetched.holds(1)));
    return overtaken;
}

int overtaken_in_50_runs(const Personality& personality, std::uint8_t write_flags) {
    int count = 0;
    for (std::uint64_t seed = 1; seed <= 50; ++seed) count += read_is_overtaken(personality, seed, write_flags) ? 1 : 0;
    return count;
}

} // namespace

TEST_CASE("an unfenced WRITE overtakes a READ of the same place in some runs, a fenced one in none") {
    const auto* const personality = GENERATE(&mlx5_like(), &rdm_like());
    INFO(personality->name);
    const int overtaken = overtaken_in_50_runs(*personality, wire::signaled);
    CHECK(overtaken > 5);
    CHECK(overtaken < 50);
    CHECK(overtaken_in_50_runs(*personality, wire::signaled | wire::fence) == 0);
}

TEST_CASE("a serial responder never shows the missing fence") {
    CHECK(overtaken_in_50_runs(rxe_like(), wire::signaled) == 0);
}

TEST_CASE("an unfenced WRITE from where a READ arrives sends the old bytes") {
    const auto* const personality = GENERATE(&mlx5_like(), &rxe_like(), &rdm_like());
    const bool fenced = GENERATE(true, false);
    INFO(personality->name << (fenced ? ", fenced" : ""));
    RigOptions options;
    options.personality = *personality;
    Rig rig(options);
    Buffer local(*rig.pair.a, 64);
    Buffer from(*rig.pair.b, 64);
    Buffer to(*rig.pair.b, 64);
    local.fill(1);
    from.fill(2);
    const std::array sges{local.sge()};
    rig.link.a.post(request(1, Opcode::rdma_read, sges, from.remote()));
    const auto flags = static_cast<std::uint8_t>(wire::signaled | (fenced ? wire::fence : 0));
    rig.link.a.post(request(2, Opcode::rdma_write, sges, to.remote(), flags));
    rig.settle();
    CHECK(local.holds(2));
    CHECK(to.holds(fenced ? 2 : 1));
}

TEST_CASE("READs take effect in order among themselves") {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        CAPTURE(seed);
        RigOptions options;
        options.seed = seed;
        Rig rig(options);
        Buffer counter(*rig.pair.b, 8);
        Buffer results(*rig.pair.a, 5 * 8);
        for (std::uint64_t i = 0; i < 5; ++i) {
            const std::array sges{results.sge(i * 8, 8)};
            auto add = request(i, Opcode::atomic_fetch_add, sges, counter.remote());
            add.operand = 1;
            rig.link.a.post(add);
        }
        rig.settle();
        for (std::size_t i = 0; i < 5; ++i) CHECK(results.bytes()[i * 8] == static_cast<std::byte>(i));
    }
}
