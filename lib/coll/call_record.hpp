/// @file
/// What a call of a collective is about, as ranks compare it: docs/wire-format.md, "Collectives". Values.
#pragma once

#include <cstdint>
#include <string>

#include <verbena/endpoint.hpp>
#include <verbena/group.hpp>

namespace verbena::coll {

/// Everything in which the calls of one collective must agree. Travels as it is, little-endian, when ranks look for the
/// odd one among them.
struct CallRecord {
    std::uint8_t collective = 0;
    std::uint8_t type = 0;
    std::uint8_t op = 0; ///< 0 where nothing is reduced
    std::uint8_t reserved = 0;
    std::uint32_t root = 0;
    std::uint64_t count = 0;     ///< elements; of a block where each rank has one
    std::uint64_t segment = 0;   ///< elements
    std::uint32_t algorithm = 0; ///< its place in algorithms(); users_plan: `digest` is that of the plan
    std::uint32_t digest = 0;    ///< of whatever else must agree (lists of counts, a plan of the user's); else 0

    friend bool operator==(const CallRecord&, const CallRecord&) = default;
};
static_assert(sizeof(CallRecord) == 32);

/// A collective's messages carry in their tag: 24 bits of the group's sequence number, 20 bits of a fingerprint of the
/// call, 20 bits that number the messages of a pair of ranks. So a message of a call that differs matches no receive,
/// and costs nothing to tell from one that fits.
inline constexpr unsigned sequence_bits = 24;
inline constexpr unsigned fingerprint_bits = 20;
inline constexpr unsigned number_bits = 20;
static_assert(sequence_bits + fingerprint_bits + number_bits == 64);
inline constexpr std::uint32_t users_plan = ~std::uint32_t{0};
inline constexpr std::uint8_t users_reduction = 0xff; ///< `op`; `type` is the size of an element, modulo 256
inline constexpr std::uint32_t max_messages_per_pair = 1U << number_bits;

[[nodiscard]] std::uint32_t fingerprint_of(const CallRecord& record) noexcept;

[[nodiscard]] constexpr Tag call_tag(std::uint32_t sequence, std::uint32_t fingerprint, std::uint32_t number) noexcept {
    return Tag{sequence} << (fingerprint_bits + number_bits) | Tag{fingerprint} << number_bits | number;
}
[[nodiscard]] constexpr std::uint32_t sequence_in(Tag tag) noexcept {
    return static_cast<std::uint32_t>(tag >> (fingerprint_bits + number_bits));
}
[[nodiscard]] constexpr std::uint32_t fingerprint_in(Tag tag) noexcept {
    return static_cast<std::uint32_t>(tag >> number_bits) & ((1U << fingerprint_bits) - 1);
}
[[nodiscard]] constexpr std::uint32_t next_sequence(std::uint32_t sequence) noexcept {
    return (sequence + 1) & ((1U << sequence_bits) - 1);
}
/// Whether `a` comes before `b`, round the end of the numbers.
[[nodiscard]] constexpr bool is_before(std::uint32_t a, std::uint32_t b) noexcept {
    const std::uint32_t distance = (b - a) & ((1U << sequence_bits) - 1);
    return distance != 0 && distance < (1U << (sequence_bits - 1));
}

/// "all_reduce of 1024 f32 (sum, ring)"
[[nodiscard]] std::string describe(const CallRecord& record);
/// "type, count"
[[nodiscard]] std::string differing_fields(const CallRecord& one, const CallRecord& other);

} // namespace verbena::coll
