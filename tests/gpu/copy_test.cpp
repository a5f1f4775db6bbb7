#include "catch.hpp"

#include <algorithm>
#include <thread>

#include <verbena/error.hpp>

#include "gpu_fixture.hpp"

using namespace verbena;
using namespace verbena::test;

namespace {

mem::Space& space_for(MemoryKind to, MemoryKind from) {
    // A device end needs its own space; memory that the CPU reaches may go through either.
    const auto rank = [](MemoryKind kind) {
        return kind == MemoryKind::device ? 3 : kind == MemoryKind::managed ? 2 : kind == MemoryKind::pinned ? 1 : 0;
    };
    return spaces().space(rank(to) >= rank(from) ? to : from);
}

} // namespace

TEST_CASE("a copy moves exactly its bytes between every two kinds of memory") {
    const auto kinds = {MemoryKind::host, MemoryKind::pinned, MemoryKind::device, MemoryKind::managed};
    const MemoryKind to = GENERATE_COPY(values(kinds));
    const MemoryKind from = GENERATE_COPY(values(kinds));
    const std::size_t bytes = GENERATE(as<std::size_t>{}, 0, 1, 13, 4096, (1 << 20) + 7);
    constexpr std::size_t guard = 67;
    CAPTURE(name(to), name(from), bytes, seed());

    const std::vector<std::byte> sent = random_bytes(bytes, bytes);
    const Buffer source(from, bytes + guard);
    const Buffer destination(to, bytes + 2 * guard);
    source.write(5, sent);
    space_for(to, from).copy(destination.data() + guard, source.data() + 5, bytes);

    std::vector<std::byte> expected(bytes + 2 * guard, std::byte{0xa5});
    std::copy(sent.begin(), sent.end(), expected.begin() + guard);
    CHECK(destination.read() == expected);
}

TEST_CASE("a copy is complete on return, also a large one") {
    constexpr std::size_t bytes = std::size_t{256}
                                  << 20; // milliseconds over PCIe: far longer than the check below takes
    const Buffer source(MemoryKind::device, bytes);
    const Buffer destination(MemoryKind::pinned, bytes);
    const std::byte last{0x3c};
    source.write(bytes - 1, {&last, 1});
    spaces().space(MemoryKind::device).copy(destination.data(), source.data(), bytes);
    CHECK(destination.data()[bytes - 1] == last);
}

TEST_CASE("a copy to or from freed device memory is refused, and the GPU works on") {
    mem::Space& device = spaces().space(MemoryKind::device);
    std::byte* gone = device.allocate(4096, 0);
    device.release(gone);
    const Buffer host(MemoryKind::host, 64);
    const auto copy_through = [&](std::byte* to, const std::byte* from) {
        try {
            device.copy(to, from, 64);
            FAIL("copied");
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::invalid_argument);
            CHECK_THAT(error.what(), VERBENA_CONTAINS("it was freed"));
        }
    };
    copy_through(gone, host.data());
    copy_through(host.data(), gone);
    const Buffer alive(MemoryKind::device, 64);
    CHECK_NOTHROW(device.copy(alive.data(), host.data(), 64));
}

TEST_CASE("a copy past the end of device memory fails with the sizes, and the GPU works on") {
    mem::Space& device = spaces().space(MemoryKind::device);
    const std::size_t bytes = std::size_t{64} << 20;
    const Buffer small(MemoryKind::device, 4096);
    const Buffer host(MemoryKind::host, bytes);
    try {
        device.copy(small.data(), host.data(), bytes);
        FAIL("copied");
    } catch (const Error& error) {
        WARN(error.what());
        CHECK(error.code() == ErrorCode::invalid_argument);
        CHECK(error.cause().origin == Origin::cuda);
        CHECK_THAT(error.what(), VERBENA_CONTAINS("67108864 bytes from host to device memory on cuda:0"));
    }
    CHECK_NOTHROW(device.copy(small.data(), host.data(), 4096));
}

TEST_CASE("threads copy at the same time without disturbing one another") {
    constexpr std::size_t bytes = 1 << 16;
    std::vector<std::thread> threads;
    std::vector<int> wrong(8, 0); // each its own element
    for (std::size_t id = 0; id < wrong.size(); ++id) {
        threads.emplace_back([id, &wrong] {
            mem::Space& device = spaces().space(MemoryKind::device);
            std::byte* memory = device.allocate(bytes, 0);
            std::vector<std::byte> back(bytes);
            for (std::uint64_t round = 0; round < 50; ++round) {
                const std::vector<std::byte> sent = random_bytes(bytes, id * 1000 + round);
                device.copy(memory, sent.data(), bytes);
                device.copy(back.data(), memory, bytes);
                wrong[id] += back != sent;
            }
            device.release(memory);
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == std::vector<int>(8, 0));
}
