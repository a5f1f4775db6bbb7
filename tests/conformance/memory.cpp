/// Registration and the size of completion queues: what cannot be had is said at once.
#include "link.hpp"

#include <array>
#include <limits>

#include <sys/mman.h>
#include <unistd.h>

using namespace verbena;
using namespace verbena::conformance;

TEST_CASE("a registration covers the bytes that were asked for", "[memory]") {
    CONFORMANCE_PAIR(pair);
    std::array<std::byte, 123> storage{};
    const auto region = pair.a->register_memory(storage, Access::messages);
    CHECK(region->bytes().data() == storage.data());
    CHECK(region->bytes().size() == storage.size());
    CHECK(region->remote_address(storage.data() + 17) - region->remote_address(storage.data()) == 17);
}

TEST_CASE("the same bytes may be registered twice, and each registration lives for itself", "[memory]") {
    CONFORMANCE_PAIR(pair);
    CONFORMANCE_NEEDS(pair.a->capabilities().rdma_write, "no RDMA WRITE");
    Link link(pair);
    Buffer source(*pair.a, 64);
    Buffer target(*pair.b, 64);
    const auto second = pair.b->register_memory(target.bytes(), Access::local_write | Access::remote_write);
    target.deregister();
    source.fill(8);
    const std::array sges{source.sge()};
    link.a.post(
        request(1, wire::Opcode::rdma_write, sges, {second->remote_address(target.bytes().data()), second->rkey()}));
    REQUIRE(link.wait_sent(link.a, 1));
    CHECK(link.a.sent[0].status == wire::CompletionStatus::success);
    CHECK(target.holds(8));
}

TEST_CASE("no bytes cannot be registered", "[memory]") {
    CONFORMANCE_PAIR(pair);
    std::byte byte{};
    CHECK_THROWS_AS(pair.a->register_memory({&byte, 0}, Access::messages), Error);
    CHECK_THROWS_AS(pair.a->register_memory({}, Access::messages), Error);
}

TEST_CASE("memory that is not mapped cannot be registered", "[memory]") {
    CONFORMANCE_PAIR(pair);
    CONFORMANCE_NEEDS(pair.a->capabilities().needs_local_key, "the device does not look at memory before it is used");
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* const mapped = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(mapped != MAP_FAILED);
    const auto first = static_cast<std::byte*>(mapped);
    REQUIRE(munmap(first + page, page) == 0);
    CHECK_NOTHROW(pair.a->register_memory({first, page}, Access::messages));
    CHECK_THROWS_AS(pair.a->register_memory({first + page, page}, Access::messages), Error);
    CHECK_THROWS_AS(pair.a->register_memory({first, page + 1}, Access::messages), Error);
    munmap(first, page);
}

TEST_CASE("a completion queue has at least the entries asked for", "[memory]") {
    CONFORMANCE_PAIR(pair);
    CHECK(pair.a->create_completion_queue(1)->capacity() >= 1);
    CHECK(pair.a->create_completion_queue(100)->capacity() >= 100);
}

TEST_CASE("a completion queue larger than the device's limit is refused with limit and need", "[memory]") {
    CONFORMANCE_PAIR(pair);
    const std::uint32_t limit = pair.a->capabilities().max_completions;
    CONFORMANCE_NEEDS(limit < std::numeric_limits<std::uint32_t>::max(), "the device knows no limit");
    try {
        const auto queue = pair.a->create_completion_queue(limit + 1);
        FAIL("a queue of " << queue->capacity() << " entries was made");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::exhausted);
        CHECK_THAT(error.what(), VERBENA_CONTAINS(std::to_string(limit)));
        CHECK_THAT(error.what(), VERBENA_CONTAINS(std::to_string(limit + 1)));
    }
}

TEST_CASE("polling an empty completion queue gives nothing", "[memory]") {
    CONFORMANCE_PAIR(pair);
    const auto queue = pair.a->create_completion_queue(8);
    std::array<wire::Completion, 4> out;
    CHECK(queue->poll(out) == 0);
    CHECK(queue->poll({}) == 0);
}
