/// @file
/// The 16-bit floating-point formats as values: what a program without types of its own for them needs.
#pragma once

#include <bit>
#include <cstdint>

namespace verbena {

/// IEEE 754 binary16: 1 sign, 5 exponent and 10 fraction bits; largest 65504, smallest above zero 2^-24.
struct Float16 {
    std::uint16_t bits;
};

/// The upper half of an IEEE 754 binary32: its range, with 7 fraction bits.
struct Bfloat16 {
    std::uint16_t bits;
};

/// Exact. NaN stays NaN, with its sign.
[[nodiscard]] constexpr float to_float(Float16 value) noexcept {
    constexpr std::uint32_t exponent = 0x7c00u << 13;
    constexpr std::uint32_t rebias = (127u - 15u) << 23;
    constexpr float smallest_normal = 0x1p-14F;
    std::uint32_t bits = (value.bits & 0x7fffu) << 13;
    const std::uint32_t shifted_exponent = bits & exponent;
    bits += rebias;
    if (shifted_exponent == exponent)
        bits += (128u - 16u) << 23; // infinity and NaN: the largest exponent here as there
    // Subnormal: read as 2^-14 plus the fraction, the 2^-14 is taken off again. No f32 subnormal arises on the way, so
    // that a processor that flushes them to zero gives the same.
    if (shifted_exponent == 0)
        bits = std::bit_cast<std::uint32_t>(std::bit_cast<float>(bits + (1u << 23)) - smallest_normal);
    return std::bit_cast<float>(bits | (value.bits & 0x8000u) << 16);
}
[[nodiscard]] constexpr float to_float(Bfloat16 value) noexcept {
    return std::bit_cast<float>(std::uint32_t{value.bits} << 16);
}

/// To the nearest, ties to even; beyond the range to infinity; NaN to a quiet NaN of the same sign.
[[nodiscard]] constexpr Float16 to_float16(float value) noexcept {
    constexpr std::uint32_t infinity = 0x7f800000u;
    constexpr std::uint32_t beyond = (127u + 16u) << 23;          // 2^16: above every finite value
    constexpr std::uint32_t smallest_normal = (127u - 14u) << 23; // 2^-14
    constexpr float unit = 0.5F; // of f32 this size the last place is worth 2^-24, the least that a binary16 holds
    const std::uint32_t all = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = all & 0x80000000u;
    const std::uint32_t bits = all ^ sign;
    std::uint32_t result = 0;
    if (bits >= beyond) {
        result = bits > infinity ? 0x7e00u : 0x7c00u;
    } else if (bits < smallest_normal) { // the addition rounds
        result = std::bit_cast<std::uint32_t>(std::bit_cast<float>(bits) + unit) - std::bit_cast<std::uint32_t>(unit);
    } else { // a fraction that rounds up carries into the exponent, at the end to infinity
        result = (bits - ((127u - 15u) << 23) + 0xfffu + ((bits >> 13) & 1u)) >> 13;
    }
    return {static_cast<std::uint16_t>(result | sign >> 16)};
}
[[nodiscard]] constexpr Bfloat16 to_bfloat16(float value) noexcept {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
    const std::uint32_t rounded = is_nan ? bits | 0x400000u : bits + 0x7fffu + ((bits >> 16) & 1u);
    return {static_cast<std::uint16_t>(rounded >> 16)};
}

} // namespace verbena
