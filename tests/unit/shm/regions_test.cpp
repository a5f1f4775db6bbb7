#include "catch.hpp"

#include <array>
#include <limits>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <verbena/error.hpp>

#include "shm/region_table.hpp"

using namespace verbena;
using namespace verbena::shm;

TEST_CASE("a key grants its bytes, its access, and nothing after it is gone") {
    RegionTable table;
    std::array<std::byte, 100> memory{};
    const wire::RemoteKey key = table.add(memory, Access::remote_read);
    const auto base = reinterpret_cast<std::uint64_t>(memory.data());
    const auto may_read = [&](std::uint64_t address, std::uint64_t length, std::uint64_t flip = 0) {
        return grants(table.rows(), {address, {key.value ^ flip}}, length, Access::remote_read);
    };
    CHECK(may_read(base, 100));
    CHECK(may_read(base + 99, 1));
    CHECK(may_read(base + 100, 0));
    CHECK_FALSE(may_read(base + 100, 1));
    CHECK_FALSE(may_read(base, 101));
    CHECK_FALSE(may_read(base - 1, 1));
    CHECK_FALSE(may_read(base + 1, std::numeric_limits<std::uint64_t>::max()));
    CHECK_FALSE(may_read(std::numeric_limits<std::uint64_t>::max(), 2));
    CHECK_FALSE(may_read(base, 1, 1));          // another row
    CHECK_FALSE(may_read(base, 1, 1ull << 40)); // another registration of the row
    CHECK_FALSE(grants(table.rows(), {base, key}, 1, Access::remote_write));
    CHECK_FALSE(grants(table.rows(), {base, {0}}, 1, Access::remote_read));
    table.remove(key);
    CHECK_FALSE(may_read(base, 1));
    const wire::RemoteKey again = table.add(memory, Access::remote_read);
    CHECK(again.value != key.value);
    CHECK_FALSE(may_read(base, 1));
}

TEST_CASE("a table that is full says how many registrations it has") {
    RegionTable table;
    std::array<std::byte, 1> memory{};
    std::vector<wire::RemoteKey> keys;
    for (std::uint32_t i = 0; i < region_rows; ++i) keys.push_back(table.add(memory, Access::none));
    try {
        (void)table.add(memory, Access::none);
        FAIL("one more than there are rows");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::exhausted);
        CHECK_THAT(error.what(), VERBENA_CONTAINS(std::to_string(region_rows)));
    }
    table.remove(keys.back());
    CHECK_NOTHROW(table.add(memory, Access::none));
}

TEST_CASE("peers can read a table of regions and neither write nor cut it") {
    RegionTable table;
    const Segment seen(getpid(), table.fd(), region_table_bytes, Segment::Sharing::read_only);
    CHECK_THROWS_AS(Segment(getpid(), table.fd(), region_table_bytes, Segment::Sharing::read_write), Error);
    CHECK(ftruncate(table.fd(), 0) != 0);
}

TEST_CASE("what is no sealed segment of the right size is not mapped") {
    const Segment good("test", 4096, Segment::Sharing::read_write);
    CHECK_NOTHROW(Segment(getpid(), good.fd(), 4096, Segment::Sharing::read_write));
    CHECK_THROWS_AS(Segment(getpid(), good.fd(), 8192, Segment::Sharing::read_write), Error);
    CHECK_THROWS_AS(Segment(getpid(), -1, 4096, Segment::Sharing::read_write), Error);
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    CHECK_THROWS_AS(Segment(getpid(), ends[0], 4096, Segment::Sharing::read_write), Error);
    close(ends[0]);
    close(ends[1]);
    // Its owner could cut it, and end us by SIGBUS.
    const int unsealed = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    REQUIRE(unsealed >= 0);
    REQUIRE(ftruncate(unsealed, 4096) == 0);
    CHECK_THROWS_AS(Segment(getpid(), unsealed, 4096, Segment::Sharing::read_write), Error);
    close(unsealed);
}
