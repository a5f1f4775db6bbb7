#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "shm/ring.hpp"

namespace verbena::shm {

/// A ring in ordinary memory, as small as a case wants it.
struct RingMemory {
    RingMemory(std::uint32_t slot_count, std::uint32_t byte_count) : slots(slot_count), bytes(byte_count) {}

    RingView view() {
        return {slots.data(), static_cast<std::uint32_t>(slots.size()), bytes.data(),
                static_cast<std::uint32_t>(bytes.size()), &consumed};
    }

    std::vector<Slot> slots;
    std::vector<std::byte> bytes;
    ConsumedIndex consumed{};
};

/// Byte `index` of message `number`.
inline std::byte byte_of(std::uint32_t number, std::size_t index) {
    return static_cast<std::byte>((number * 31u + index * 7u) & 0xffu);
}

/// Puts message `number` of `length` bytes; false when there is no room.
inline bool put(Producer& producer, std::uint32_t number, std::uint32_t length) {
    if (!producer.has_room(length)) return false;
    const Pieces<std::byte> pieces = producer.payload(length);
    std::size_t index = 0;
    for (std::byte& byte : pieces.first) byte = byte_of(number, index++);
    for (std::byte& byte : pieces.second) byte = byte_of(number, index++);
    producer.publish({1, 0, number, length});
    return true;
}

enum class Taken { nothing, good, bad };

/// Takes the next message and compares it with what put() put as `number`.
inline Taken take(Consumer& consumer, std::uint32_t number) {
    Record record;
    if (consumer.peek(record) != Consumer::Front::record) return Taken::nothing;
    bool good = record.immediate == number && record.kind == 1;
    const auto pieces = consumer.payload(record);
    std::size_t index = 0;
    for (const std::byte byte : pieces.first) good = good && byte == byte_of(number, index++);
    for (const std::byte byte : pieces.second) good = good && byte == byte_of(number, index++);
    good = good && index == record.length;
    consumer.pop(record);
    consumer.publish();
    return good ? Taken::good : Taken::bad;
}

} // namespace verbena::shm
