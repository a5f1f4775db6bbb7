#include "catch.hpp"

#include <atomic>
#include <deque>
#include <random>
#include <thread>

#include "ring_fixture.hpp"

using namespace verbena::shm;

namespace {

constexpr std::uint32_t slots = 8;
constexpr std::uint32_t bytes = 1024;

} // namespace

TEST_CASE("zeroed memory is an empty ring") {
    RingMemory memory(slots, bytes);
    Consumer consumer(memory.view());
    Record record;
    CHECK(consumer.peek(record) == Consumer::Front::none);
}

TEST_CASE("a ring takes as many records as it has slots, and one more for each that is consumed and published") {
    RingMemory memory(slots, bytes);
    Producer producer(memory.view());
    Consumer consumer(memory.view());
    for (std::uint32_t i = 0; i < slots; ++i) REQUIRE(put(producer, i, 8));
    CHECK_FALSE(producer.has_room(0));
    Record record;
    REQUIRE(consumer.peek(record) == Consumer::Front::record);
    consumer.pop(record);
    CHECK_FALSE(producer.has_room(0)); // popped, not yet published
    consumer.publish();
    CHECK(put(producer, slots, 8));
    CHECK_FALSE(producer.has_room(0));
    for (std::uint32_t i = 1; i <= slots; ++i) CHECK(take(consumer, i) == Taken::good);
}

TEST_CASE("payload that does not fit in a slot takes whole lines of the bytes, and gives them back") {
    RingMemory memory(slots, bytes);
    Producer producer(memory.view());
    Consumer consumer(memory.view());
    const std::uint32_t most = memory.view().max_payload_bytes();
    REQUIRE(most == 256);
    for (std::uint32_t i = 0; i < 4; ++i) REQUIRE(put(producer, i, most));
    CHECK_FALSE(producer.has_room(inline_payload_bytes + 1));
    CHECK(producer.has_room(inline_payload_bytes)); // that needs none of them
    CHECK(take(consumer, 0) == Taken::good);
    CHECK(producer.has_room(most));
}

TEST_CASE("messages of random length arrive whole and in order through every wrap") {
    const auto seed = std::random_device{}();
    INFO("seed " << seed);
    std::mt19937 random(seed);
    RingMemory memory(slots, bytes);
    Producer producer(memory.view());
    Consumer consumer(memory.view());
    std::uint32_t sent = 0, taken = 0;
    while (taken < 20'000) {
        if (random() % 2 == 0) {
            if (put(producer, sent, static_cast<std::uint32_t>(random() % (memory.view().max_payload_bytes() + 1))))
                ++sent;
        } else if (taken != sent) {
            REQUIRE(take(consumer, taken++) == Taken::good);
        } else {
            REQUIRE(take(consumer, taken) == Taken::nothing);
        }
    }
    CHECK_FALSE(producer.is_violated());
}

TEST_CASE("payload that looks like a descriptor is not taken for one") {
    RingMemory memory(slots, bytes);
    Producer producer(memory.view());
    Consumer consumer(memory.view());
    for (std::uint64_t number = 0; number < 4 * slots; ++number) {
        REQUIRE(producer.has_room(112));
        const auto piece = producer.payload(112).first;
        const std::uint64_t next_heads = (number + 2) << 32 | 8;
        for (std::size_t at = 0; at < piece.size(); at += 8) std::memcpy(piece.data() + at, &next_heads, 8);
        producer.publish({1, 0, 0, 112});
        Record record;
        REQUIRE(consumer.peek(record) == Consumer::Front::record);
        consumer.pop(record);
        consumer.publish();
        REQUIRE(consumer.peek(record) == Consumer::Front::none);
    }
}

TEST_CASE("two threads exchange messages of every length") {
    RingMemory memory(slots, bytes);
    constexpr std::uint32_t messages = 20'000;
    std::thread sender([&] {
        Producer producer(memory.view());
        for (std::uint32_t i = 0; i < messages;) {
            if (put(producer, i, i % 257)) {
                ++i;
            } else {
                std::this_thread::yield();
            }
        }
    });
    Consumer consumer(memory.view());
    std::uint32_t good = 0;
    for (std::uint32_t i = 0; i < messages;) {
        const Taken taken = take(consumer, i);
        if (taken == Taken::nothing) {
            std::this_thread::yield();
            continue;
        }
        if (taken == Taken::good) ++good;
        ++i;
    }
    sender.join();
    CHECK(good == messages);
}

TEST_CASE("a length beyond what a record may have is a violation, whatever it is") {
    RingMemory memory(slots, bytes);
    Consumer consumer(memory.view());
    const std::uint32_t length = GENERATE(257u, 1024u, 0x7fffffffu, 0xffffffffu);
    memory.slots[0].head = 1ull << 32 | length;
    Record record;
    CHECK(consumer.peek(record) == Consumer::Front::violation);
}

TEST_CASE("a consumed index that cannot be makes the producer stop, for good") {
    RingMemory memory(slots, bytes);
    Producer producer(memory.view());
    for (std::uint32_t i = 0; i < slots; ++i) REQUIRE(put(producer, i, 8));
    const std::uint32_t index = GENERATE(slots + 1, 0x80000000u, 0xffffffffu);
    memory.consumed.records = index;
    CHECK_FALSE(producer.has_room(0));
    CHECK(producer.is_violated());
    memory.consumed.records = slots;
    CHECK_FALSE(producer.has_room(0));
}

TEST_CASE("whatever is in the shared memory, both ends stay inside it") {
    const auto seed = std::random_device{}();
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    RingMemory memory(slots, bytes);
    Producer producer(memory.view());
    Consumer consumer(memory.view());
    std::uint32_t popped = 0;
    std::size_t seen = 0;
    for (int step = 0; step < 100'000; ++step) {
        // Often the right sequence number, so that the rest is looked at.
        Slot& slot = memory.slots[popped % slots];
        slot.head = (random() % 4 == 0 ? random() : static_cast<std::uint64_t>(popped + 1) << 32 | random() % 512);
        slot.detail = random();
        memory.consumed.records = static_cast<std::uint32_t>(random());
        Record record;
        if (consumer.peek(record) == Consumer::Front::record) {
            const auto pieces = consumer.payload(record);
            REQUIRE(pieces.first.size() + pieces.second.size() == record.length);
            for (const auto piece : {pieces.first, pieces.second}) {
                for (const std::byte byte : piece) seen += static_cast<std::size_t>(byte); // the sanitizer watches
            }
            consumer.pop(record);
            ++popped;
        }
        (void)put(producer, 0, static_cast<std::uint32_t>(random() % 257));
    }
    CHECK(popped > 1000);
    INFO(seen);
}
