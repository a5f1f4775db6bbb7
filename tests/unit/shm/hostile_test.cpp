/// A peer that writes what it likes into our segment: the queue pair breaks, with a completion that says so; memory
/// that was not granted stays as it was.
#include "catch.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "shm/address.hpp"
#include "shm/completion_queue.hpp"
#include "shm/device.hpp"
#include "shm/inbound.hpp"
#include "shm/records.hpp"
#include "shm/segment.hpp"

using namespace verbena;
using namespace verbena::shm;
using wire::CompletionStatus;

namespace {

/// A queue pair, and a hand in its segment.
struct Victim {
    Device device{RemoteAccess::through_the_ring};
    CompletionQueue cq{64};
    std::unique_ptr<wire::QueuePair> qp = make();
    std::unique_ptr<wire::QueuePair> peer = make();
    std::vector<std::byte> memory = std::vector<std::byte>(4096);
    std::unique_ptr<wire::MemoryRegion> region =
        device.register_memory(std::span(memory).subspan(1024, 1024), Access::messages | Access::remote_write);
    Segment segment;
    std::optional<Producer> producer;

    Victim() {
        qp->connect(peer->address());
        const EndAddress address = unpack_address(qp->address());
        segment = Segment(address.process.pid, address.segment_fd, inbound_bytes, Segment::Sharing::read_write);
        producer.emplace(ring_of(segment.data()));
    }

    std::unique_ptr<wire::QueuePair> make() {
        wire::QueuePairOptions options;
        options.send_cq = options.receive_cq = &cq;
        return device.create_queue_pair(options);
    }
    void post_receive() {
        const wire::Sge sge{memory.data() + 2048, 64, {}};
        const wire::ReceiveRequest request{7, {&sge, 1}};
        (void)qp->post_receive({&request, 1});
    }
    template <class Body>
    void inject(RecordKind kind, std::uint8_t flags, const Body& body) {
        REQUIRE(producer->has_room(sizeof body));
        std::memcpy(producer->payload(sizeof body).first.data(), &body, sizeof body);
        producer->publish({static_cast<std::uint8_t>(kind), flags, 0, sizeof body});
    }
    std::vector<wire::Completion> poll() {
        std::vector<wire::Completion> seen(16);
        seen.resize(cq.poll(seen));
        return seen;
    }
};

constexpr std::array<std::byte, 16> some_bytes{};

} // namespace

TEST_CASE("a record that no peer sends breaks the queue pair with bad_response") {
    Victim victim;
    victim.post_receive();
    SECTION("of no kind") { victim.inject(static_cast<RecordKind>(99), 0, some_bytes); }
    SECTION("a message that begins twice") {
        victim.inject(RecordKind::send, first_fragment, some_bytes);
        victim.inject(RecordKind::send, first_fragment, some_bytes);
    }
    SECTION("a message that does not begin") { victim.inject(RecordKind::send, last_fragment, some_bytes); }
    SECTION("data of a READ that was not asked for") { victim.inject(RecordKind::read_data, 0, some_bytes); }
    SECTION("an answer to no request") { victim.inject(RecordKind::write_done, 0, some_bytes); }
    SECTION("data of no WRITE") { victim.inject(RecordKind::data, 0, some_bytes); }
    SECTION("a notice of the wrong size") { victim.inject(RecordKind::notice, 0, some_bytes); }
    SECTION("a request of the wrong size") { victim.inject(RecordKind::read, 0, some_bytes); }
    SECTION("a request for nothing") { victim.inject(RecordKind::read, 0, RequestBody{}); }
    SECTION("a second request before the first is answered") {
        const RequestBody body{victim.region->remote_address(victim.memory.data() + 1024), victim.region->rkey().value,
                               1024};
        victim.inject(RecordKind::write, 0, body);
        victim.inject(RecordKind::write, 0, body);
    }
    SECTION("more data than the WRITE announced") {
        const RequestBody body{victim.region->remote_address(victim.memory.data() + 1024), victim.region->rkey().value,
                               8};
        victim.inject(RecordKind::write, 0, body);
        victim.inject(RecordKind::data, 0, some_bytes);
    }
    SECTION("a length that is longer than the ring") {
        header_of(victim.segment.data()).consumed.records = 0;
        ring_of(victim.segment.data()).slots[0].head = 1ull << 32 | 0xffffffffu;
    }
    const auto seen = victim.poll();
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].status == CompletionStatus::bad_response);
    CHECK(seen[0].cause.code == EPROTO);
    CHECK(victim.qp->describe().state == wire::QueuePairState::err);
    CHECK(std::ranges::all_of(victim.memory, [](std::byte byte) { return byte == std::byte{0}; }));
}

TEST_CASE("a request through the ring beyond what its key grants touches nothing") {
    Victim victim;
    RequestBody body{victim.region->remote_address(victim.memory.data() + 1024), victim.region->rkey().value, 16};
    SECTION("another key") { body.rkey ^= 1ull << 50; }
    SECTION("before the region") { body.address -= 1; }
    SECTION("past its end") { body.address += 1024 - 15; }
    SECTION("longer than the region, data within it") { body.length = 1025; }
    std::array<std::byte, 16> payload;
    payload.fill(std::byte{0x5a});
    victim.inject(RecordKind::write, 0, body);
    victim.inject(RecordKind::data, 0, payload);
    CHECK(victim.poll().empty());
    CHECK(std::ranges::all_of(victim.memory, [](std::byte byte) { return byte == std::byte{0}; }));
    CHECK(victim.qp->describe().state == wire::QueuePairState::rts);
}

TEST_CASE("memory deregistered while a WRITE through the ring is under way is not touched any more") {
    Victim victim;
    const RequestBody body{victim.region->remote_address(victim.memory.data() + 1024), victim.region->rkey().value, 32};
    std::array<std::byte, 16> payload;
    payload.fill(std::byte{0x5a});
    victim.inject(RecordKind::write, 0, body);
    victim.inject(RecordKind::data, 0, payload);
    CHECK(victim.poll().empty());
    CHECK(victim.memory[1024 + 15] == std::byte{0x5a});
    victim.region.reset();
    victim.inject(RecordKind::data, 0, payload);
    CHECK(victim.poll().empty());
    CHECK(victim.memory[1024 + 16] == std::byte{0});
}

TEST_CASE("whatever records come, only granted memory and posted receives change") {
    const auto seed = std::random_device{}();
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    for (int round = 0; round < 100; ++round) {
        Victim victim;
        const std::uint64_t granted = victim.region->remote_address(victim.memory.data() + 1024);
        for (int i = 0; i < 20 && victim.qp->describe().state == wire::QueuePairState::rts; ++i) {
            victim.post_receive();
            const RequestBody body{granted - 8 + random() % 1040, victim.region->rkey().value ^ (random() % 2),
                                   random() % 4 == 0 ? random() : random() % 64};
            victim.inject(static_cast<RecordKind>(random() % 11), static_cast<std::uint8_t>(random() % 8), body);
            (void)victim.poll();
        }
        const auto untouched = [&](std::size_t begin, std::size_t end) {
            return std::all_of(victim.memory.begin() + static_cast<std::ptrdiff_t>(begin),
                               victim.memory.begin() + static_cast<std::ptrdiff_t>(end),
                               [](std::byte byte) { return byte == std::byte{0}; });
        };
        REQUIRE(untouched(0, 1024));
        REQUIRE(untouched(2048 + 64, 4096));
    }
}
