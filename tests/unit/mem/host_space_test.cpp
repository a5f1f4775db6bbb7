#include "catch.hpp"

#include <array>
#include <cstdint>
#include <limits>

#include <unistd.h>
#include <verbena/error.hpp>

#include "mem/host_space.hpp"

using namespace verbena;
using namespace verbena::mem;

TEST_CASE("host memory starts on a page of its own, whatever its size") {
    HostSpace space;
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const std::size_t bytes = GENERATE_COPY(values<std::size_t>({0, 1, page - 1, page, page + 1, 1 << 20}));
    std::byte* first = space.allocate(bytes, -1);
    std::byte* second = space.allocate(bytes, -1);
    for (std::byte* memory : {first, second}) {
        REQUIRE(memory != nullptr);
        CHECK(reinterpret_cast<std::uintptr_t>(memory) % page == 0);
        for (std::size_t i = 0; i < bytes; ++i) memory[i] = std::byte{0x5a};
    }
    CHECK(first != second);
    space.release(first);
    space.release(second);
}

TEST_CASE("more host memory than there can be is refused with the size and a next step") {
    HostSpace space;
    const std::size_t bytes = GENERATE(std::size_t{1} << 60, std::numeric_limits<std::size_t>::max());
    try {
        space.release(space.allocate(bytes, -1));
        FAIL("allocated");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::exhausted);
        CHECK_THAT(error.what(), VERBENA_CONTAINS(std::to_string(bytes) + " bytes"));
        CHECK_FALSE(error.advice().empty());
        CHECK(error.cause().origin == Origin::system_errno);
    }
}

TEST_CASE("a host copy moves exactly its bytes, also onto itself") {
    HostSpace space;
    std::array<std::byte, 8> memory{};
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i);
    space.copy(memory.data() + 1, memory.data(), 6);
    const std::array<int, 8> expected = {0, 0, 1, 2, 3, 4, 5, 7};
    for (std::size_t i = 0; i < memory.size(); ++i) CHECK(std::to_integer<int>(memory[i]) == expected[i]);
    CHECK_NOTHROW(space.copy(nullptr, nullptr, 0));
}

TEST_CASE("host memory is left to the core to reduce") {
    HostSpace space;
    CHECK(space.is_host_accessible());
    CHECK_THROWS_AS(space.reduce(DataType::f32, ReduceOp::sum, nullptr, {}, 0), Error);
}
