/// Put, get, signals and flush, as the message engine offers them over whatever the wire can do.
#include "one_sided_job.hpp"

#include <algorithm>
#include <array>
#include <atomic>

using namespace verbena;
using namespace verbena::conformance;

namespace {

struct Range {
    std::size_t offset;
    std::size_t length;
};
constexpr std::size_t region_bytes = 300'000;
constexpr std::array ranges{
    Range{0, 1},      Range{3, 8},    Range{7, 200},       Range{4095, 2},         Range{1, 8191},
    Range{0, 8192},   Range{5, 8300}, Range{1000, 65'536}, Range{0, region_bytes}, Range{region_bytes, 0},
    Range{17, 40'001}};

} // namespace

TEST_CASE("a put stores exactly its bytes, from registered memory or not, and flush() says when", "[one-sided]") {
    CONFORMANCE_PAIR(pair);
    OneSidedJob job(pair);
    const bool registered = GENERATE(false, true);
    CAPTURE(registered);
    Exposed target(job[1], region_bytes);
    std::vector<std::byte> source;
    unsigned seed = 0;
    for (const auto [offset, length] : ranges) {
        CAPTURE(offset, length);
        source = content(++seed, length);
        std::unique_ptr<msg::Engine::Registration> registration;
        if (registered && length > 0) registration = job[0].register_memory(source, Access::none);
        std::ranges::fill(target.bytes(), std::byte{0});
        const auto put = job[0].one_sided(1, put_call(source, target.region(), offset));
        const Status ended = job.end_of(0, put);
        REQUIRE(ended.ok());
        CHECK(ended.bytes == length);
        REQUIRE(job.end_of(0, job[0].flush(1)).ok());
        CHECK(std::ranges::equal(target.bytes().subspan(offset, length), source));
        const auto is_clear = [](std::byte byte) { return byte == std::byte{0}; };
        CHECK(std::ranges::all_of(target.bytes().first(offset), is_clear));
        CHECK(std::ranges::all_of(target.bytes().subspan(offset + length), is_clear));
        CHECK(target.guards_intact());
    }
    CHECK(job[0].is_quiet());
    CHECK(job[0].describe(1).divergences == 0);
}

TEST_CASE("a get fetches exactly its bytes, into registered memory or not", "[one-sided]") {
    CONFORMANCE_PAIR(pair);
    OneSidedJob job(pair);
    const bool registered = GENERATE(false, true);
    CAPTURE(registered);
    Exposed source(job[1], region_bytes);
    source.fill(9);
    for (const auto [offset, length] : ranges) {
        CAPTURE(offset, length);
        std::vector<std::byte> into(length + 128, std::byte{0xa5});
        const std::span part = std::span(into).subspan(64, length);
        std::unique_ptr<msg::Engine::Registration> registration;
        if (registered && length > 0) registration = job[0].register_memory(part, Access::local_write);
        const Status ended = job.end_of(0, job[0].one_sided(1, get_call(part, source.region(), offset)));
        REQUIRE(ended.ok());
        CHECK(ended.bytes == length);
        CHECK(std::ranges::equal(part, source.bytes().subspan(offset, length)));
        const auto is_guard = [](std::byte byte) { return byte == std::byte{0xa5}; };
        CHECK(std::all_of(into.begin(), into.begin() + 64, is_guard));
        CHECK(std::all_of(into.end() - 64, into.end(), is_guard));
    }
    CHECK(job[0].is_quiet());
}

TEST_CASE("many puts and gets at once, with the smallest queues and windows", "[one-sided]") {
    CONFORMANCE_PAIR(pair);
    msg::EngineOptions options;
    options.send_depth = GENERATE(1u, 5u);
    options.receive_window = options.send_depth == 1 ? 1 : 3;
    options.eager_limit = 500;
    OneSidedJob job(pair, 2, options);
    constexpr std::size_t piece = 777;
    constexpr std::size_t count = 60;
    Exposed target(job[1], piece * count);
    std::vector<std::vector<std::byte>> sources;
    for (unsigned i = 0; i < count; ++i) sources.push_back(content(i, piece));
    for (std::size_t i = 0; i < count; ++i) {
        job[0].release(job[0].one_sided(1, put_call(sources[i], target.region(), i * piece)));
    }
    REQUIRE(job.end_of(0, job[0].flush(1)).ok());
    std::vector<std::vector<std::byte>> fetched(count, std::vector<std::byte>(piece));
    std::vector<msg::OperationId> gets;
    for (std::size_t i = 0; i < count; ++i) {
        gets.push_back(job[0].one_sided(1, get_call(fetched[i], target.region(), i * piece)));
    }
    for (const auto get : gets) REQUIRE(job.end_of(0, get).ok());
    CHECK(fetched == sources);
    CHECK(job[0].is_quiet());
    CHECK(job[0].describe(1).divergences == 0);
}

TEST_CASE("whoever sees the signal sees the data", "[one-sided]") {
    CONFORMANCE_PAIR(pair);
    OneSidedJob job(pair);
    constexpr std::size_t most = 20'000;
    Exposed data(job[1], most);
    Exposed signal(job[1], 16);
    const auto seen = [&] {
        auto& word = *reinterpret_cast<std::uint64_t*>(signal.bytes().data() + 8);
        return std::atomic_ref<std::uint64_t>(word).load(std::memory_order_acquire);
    };
    for (unsigned round = 1; round <= 60; ++round) {
        CAPTURE(round);
        const std::size_t length = round % 10 == 0 ? most - round : round * 13 % 700;
        const auto source = content(round, length);
        auto call = put_call(source, data.region(), round % 8);
        call.signal = &signal.region();
        call.signal_offset = 8;
        call.signal_value = round;
        const auto put = job[0].one_sided(1, call);
        REQUIRE(job.wait([&] { return seen() == round; }));
        REQUIRE(std::ranges::equal(data.bytes().subspan(round % 8, length), source));
        REQUIRE(job.end_of(0, put).ok());
    }
    CHECK(signal.word(0) == 0);
}

TEST_CASE("where the device puts and gets, the peer's engine takes no part", "[one-sided]") {
    CONFORMANCE_PAIR(pair);
    msg::EngineOptions options;
    options.receive_window = 1; // nothing that takes a credit could go on for long
    OneSidedJob job(pair, 2, options);
    const bool native = job[0].describe(1).remote_access == "RDMA";
    CONFORMANCE_NEEDS(native && !pair.a->capabilities().manual_progress, "a peer must make progress");
    Exposed target(job[1], 4096);
    for (unsigned round = 1; round <= 100; ++round) {
        const auto source = content(round, 400);
        REQUIRE(job.end_of(0, job[0].one_sided(1, put_call(source, target.region(), 10)), 0).ok());
        REQUIRE(job.end_of(0, job[0].flush(1), 0).ok());
        REQUIRE(std::ranges::equal(target.bytes().subspan(10, 400), source));
        std::vector<std::byte> back(400);
        REQUIRE(job.end_of(0, job[0].one_sided(1, get_call(back, target.region(), 10)), 0).ok());
        REQUIRE(back == source);
    }
}

TEST_CASE("after a fence comes what was started after it", "[one-sided]") {
    CONFORMANCE_PAIR(pair);
    OneSidedJob job(pair);
    Exposed target(job[1], 4096);
    std::vector<std::byte> fetched(2000);
    const auto registration = job[0].register_memory(fetched, Access::local_write);
    for (unsigned round = 1; round <= 50; ++round) {
        CAPTURE(round);
        const auto first = content(round, 2000);
        const auto second = content(round + 100, 2000);
        job[0].release(job[0].one_sided(1, put_call(first, target.region())));
        job[0].fence(1);
        const auto get = job[0].one_sided(1, get_call(fetched, target.region()));
        job[0].fence(1);
        job[0].release(job[0].one_sided(1, put_call(second, target.region())));
        job[0].fence(1);
        std::uint64_t before = 0;
        const auto add = job[0].one_sided(
            1, atomic_call(msg::OneSidedCall::Kind::fetch_add, target.region(), 3000 / 8 * 8, 1, 0, &before));
        REQUIRE(job.end_of(0, get).ok());
        REQUIRE(fetched == first);
        REQUIRE(job.end_of(0, add).ok());
        CHECK(before == round - 1);
        REQUIRE(job.end_of(0, job[0].flush(1)).ok());
        REQUIRE(std::ranges::equal(target.bytes().first(2000), second));
    }
}
