/// One-sided operations: WRITE, READ, immediate, fence, atomics.
#include "link.hpp"

#include <array>
#include <cstring>

using namespace verbena;
using namespace verbena::conformance;
using wire::Opcode;

namespace {

struct Range {
    std::size_t offset;
    std::size_t length;
};
constexpr std::size_t span_bytes = 9000;
constexpr std::array ranges{Range{0, 1},    Range{1, 1},    Range{3, 5},          Range{7, 4091},
                            Range{4095, 2}, Range{1, 8191}, Range{span_bytes, 0}, Range{0, span_bytes}};

std::uint64_t load(Buffer& buffer) {
    std::uint64_t value = 0;
    std::memcpy(&value, buffer.bytes().data(), sizeof value);
    return value;
}

void store(Buffer& buffer, std::uint64_t value) { std::memcpy(buffer.bytes().data(), &value, sizeof value); }

std::span<const wire::Sge> list_of(const wire::Sge& sge) {
    return sge.length == 0 ? std::span<const wire::Sge>{} : std::span<const wire::Sge>(&sge, 1);
}

} // namespace

TEST_CASE("a WRITE puts exactly its bytes at any offset", "[rdma]") {
    CONFORMANCE_PAIR(pair);
    CONFORMANCE_NEEDS(pair.a->capabilities().rdma_write, "no RDMA WRITE");
    Link link(pair);
    Buffer source(*pair.a, span_bytes);
    Buffer target(*pair.b, span_bytes);
    unsigned count = 0;
    for (const auto [offset, length] : ranges) {
        CAPTURE(offset, length);
        source.fill(++count);
        target.clear();
        const auto sge = source.sge(0, length);
        link.a.post(request(count, Opcode::rdma_write, list_of(sge), target.remote(offset)));
        REQUIRE(link.wait_sent(link.a, count));
        CHECK(link.a.sent.back().status == wire::CompletionStatus::success);
        CHECK(link.a.sent.back().kind == wire::CompletionKind::rdma_write);
        CHECK(target.holds(count, offset, length));
        CHECK(target.is_clear(0, offset));
        CHECK(target.is_clear(offset + length, span_bytes - offset - length));
        CHECK(target.guards_intact());
    }
    CHECK(link.b.received.empty());
}

TEST_CASE("a READ fetches exactly its bytes from any offset", "[rdma]") {
    CONFORMANCE_PAIR(pair);
    CONFORMANCE_NEEDS(pair.a->capabilities().rdma_read, "no RDMA READ");
    Link link(pair);
    Buffer local(*pair.a, span_bytes);
    Buffer remote(*pair.b, span_bytes);
    remote.fill(77);
    unsigned count = 0;
    for (const auto [offset, length] : ranges) {
        CAPTURE(offset, length);
        local.clear();
        const auto sge = local.sge(offset, length);
        link.a.post(request(++count, Opcode::rdma_read, list_of(sge), remote.remote(offset)));
        REQUIRE(link.wait_sent(link.a, count));
        CHECK(link.a.sent.back().status == wire::CompletionStatus::success);
        CHECK(link.a.sent.back().kind == wire::CompletionKind::rdma_read);
        CHECK(std::memcmp(local.bytes().data() + offset, remote.bytes().data() + offset, length) == 0);
        CHECK(local.is_clear(0, offset));
        CHECK(local.is_clear(offset + length, span_bytes - offset - length));
        CHECK(local.guards_intact());
    }
}

TEST_CASE("WRITEs of one queue pair to one place take effect in posting order", "[rdma]") {
    CONFORMANCE_PAIR(pair);
    CONFORMANCE_NEEDS(pair.a->capabilities().rdma_write && pair.a->capabilities().ordered_writes,
                      "no ordered RDMA WRITE");
    Link link(pair);
    constexpr std::size_t size = 700;
    Buffer first(*pair.a, size);
    Buffer second(*pair.a, size);
    Buffer target(*pair.b, size);
    first.fill(1);
    second.fill(2);
    const std::array sges{first.sge(), second.sge()};
    link.a.post(request(1, Opcode::rdma_write, std::span(sges).first(1), target.remote()));
    link.a.post(request(2, Opcode::rdma_write, std::span(sges).last(1), target.remote()));
    REQUIRE(link.wait_sent(link.a, 2));
    CHECK(target.holds(2));
}

TEST_CASE("a WRITE with immediate consumes a receive and tells its length", "[rdma]") {
    CONFORMANCE_PAIR(pair);
    CONFORMANCE_NEEDS(pair.a->capabilities().write_with_imm, "no RDMA WRITE with immediate");
    Link link(pair);
    Buffer source(*pair.a, 600);
    Buffer target(*pair.b, 600);
    Buffer untouched(*pair.b, 16);
    source.fill(4);
    const std::size_t length = GENERATE(std::size_t{0}, std::size_t{599});
    link.b.post_receive(8, untouched.sge());
    const auto sge = source.sge(0, length);
    auto write = request(1, Opcode::rdma_write_with_imm, list_of(sge), target.remote(1));
    write.immediate = 0x01020304u;
    link.a.post(write);
    REQUIRE(link.wait_received(link.b, 1));
    REQUIRE(link.wait_sent(link.a, 1));
    const wire::Completion& received = link.b.received[0];
    REQUIRE(received.status == wire::CompletionStatus::success);
    CHECK(received.kind == wire::CompletionKind::receive_rdma_with_imm);
    CHECK(received.wr_id == 8);
    CHECK(received.has_immediate);
    CHECK(received.immediate == 0x01020304u);
    CHECK(received.byte_count == length);
    CHECK(target.holds(4, 1, length)); // the data is there before the completion
    CHECK(untouched.is_clear(0, 16));
}

TEST_CASE("a fenced WRITE sends what an earlier READ fetched", "[rdma]") {
    CONFORMANCE_PAIR(pair);
    const wire::Capabilities& can = pair.a->capabilities();
    CONFORMANCE_NEEDS(can.rdma_read && can.rdma_write && can.native_fence, "no READ, WRITE and fence");
    Link link(pair);
    constexpr std::size_t size = 32768;
    Buffer local(*pair.a, size);
    Buffer from(*pair.b, size);
    Buffer to(*pair.b, size);
    for (unsigned round = 1; round <= 20; ++round) {
        CAPTURE(round);
        from.fill(round);
        const std::array sges{local.sge()};
        link.a.post(request(1, Opcode::rdma_read, sges, from.remote()));
        link.a.post(request(2, Opcode::rdma_write, sges, to.remote(), wire::signaled | wire::fence));
        REQUIRE(link.wait_sent(link.a, 2u * round));
        REQUIRE(to.holds(round));
    }
}

TEST_CASE("atomics return the old value and change the target once", "[rdma]") {
    CONFORMANCE_PAIR(pair);
    CONFORMANCE_NEEDS(pair.a->capabilities().atomics, "no atomics");
    Link link(pair);
    Buffer local(*pair.a, 8);
    Buffer target(*pair.b, 8);
    const std::array sges{local.sge()};
    constexpr std::uint64_t start = 0xfffffffffffffff0u;
    store(target, start);
    auto atomic = request(1, Opcode::atomic_fetch_add, sges, target.remote());
    SECTION("fetch-and-add wraps") {
        atomic.operand = 0x20;
        link.a.post(atomic);
        REQUIRE(link.wait_sent(link.a, 1));
        CHECK(load(target) == 0x10);
    }
    SECTION("compare-and-swap with the expected value stores the new one") {
        atomic.opcode = Opcode::atomic_compare_swap;
        atomic.compare = start;
        atomic.operand = 42;
        link.a.post(atomic);
        REQUIRE(link.wait_sent(link.a, 1));
        CHECK(load(target) == 42);
    }
    SECTION("compare-and-swap with another value changes nothing") {
        atomic.opcode = Opcode::atomic_compare_swap;
        atomic.compare = 1;
        atomic.operand = 42;
        link.a.post(atomic);
        REQUIRE(link.wait_sent(link.a, 1));
        CHECK(load(target) == start);
    }
    CHECK(link.a.sent[0].status == wire::CompletionStatus::success);
    CHECK(link.a.sent[0].kind == wire::CompletionKind::atomic);
    CHECK(load(local) == start);
}
