/// @file
/// The 8-bit floating-point formats of the OCP specification as values.
#pragma once

#include <bit>
#include <cstdint>

#include <verbena/float16.hpp>

namespace verbena {

/// 1 sign, 4 exponent and 3 fraction bits; largest 448, smallest above zero 2^-9. No infinity: 0x7f and 0xff are NaN.
struct Float8E4m3 {
    std::uint8_t bits;
};

/// The upper half of a binary16: 1 sign, 5 exponent and 2 fraction bits; largest 57344, smallest above zero 2^-16.
struct Float8E5m2 {
    std::uint8_t bits;
};

/// Exact. NaN stays NaN, with its sign.
[[nodiscard]] constexpr float to_float(Float8E4m3 value) noexcept {
    const std::uint32_t sign = std::uint32_t{value.bits & 0x80u} << 24;
    const std::uint32_t magnitude = value.bits & 0x7fu;
    if (magnitude == 0x7f) return std::bit_cast<float>(sign | 0x7fc00000u);
    constexpr std::uint32_t rebias = (127u - 7u) << 23;
    const float result = magnitude < 8 ? static_cast<float>(magnitude) * 0x1p-9F // subnormal
                                       : std::bit_cast<float>((magnitude << 20) + rebias);
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(result) | sign);
}
[[nodiscard]] constexpr float to_float(Float8E5m2 value) noexcept {
    return to_float(Float16{static_cast<std::uint16_t>(value.bits << 8)});
}

namespace detail {

/// To the nearest value with `fraction_bits` fraction bits and this exponent bias, ties to even, sign apart. A fraction
/// that rounds up carries into the exponent; what lies beyond the range is for the caller.
constexpr std::uint32_t rounded_to_8_bits(std::uint32_t bits, unsigned fraction_bits, unsigned bias) noexcept {
    const std::uint32_t smallest_normal = (127u - bias + 1u) << 23;
    if (bits < smallest_normal) { // of f32 this size the last place is the format's least value: the addition rounds
        const float unit = std::bit_cast<float>((127u - bias + 1u - fraction_bits + 23u) << 23);
        return std::bit_cast<std::uint32_t>(std::bit_cast<float>(bits) + unit) - std::bit_cast<std::uint32_t>(unit);
    }
    const unsigned dropped = 23u - fraction_bits;
    const std::uint32_t half_less_one = (1u << (dropped - 1u)) - 1u;
    return (bits - ((127u - bias) << 23) + half_less_one + ((bits >> dropped) & 1u)) >> dropped;
}

} // namespace detail

/// To the nearest, ties to even; beyond the range, as there is no infinity, to NaN: an overflow stays visible.
[[nodiscard]] constexpr Float8E4m3 to_float8_e4m3(float value) noexcept {
    constexpr std::uint32_t last_to_round_down = std::bit_cast<std::uint32_t>(464.0F); // halfway from 448 to the next
    const std::uint32_t all = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t bits = all & 0x7fffffffu;
    const std::uint32_t result = bits > last_to_round_down ? 0x7fu : detail::rounded_to_8_bits(bits, 3, 7);
    return {static_cast<std::uint8_t>(result | (all >> 24 & 0x80u))};
}
/// To the nearest, ties to even; beyond the range to infinity; NaN to a NaN of the same sign.
[[nodiscard]] constexpr Float8E5m2 to_float8_e5m2(float value) noexcept {
    constexpr std::uint32_t infinity = 0x7f800000u;
    constexpr std::uint32_t beyond = std::bit_cast<std::uint32_t>(65536.0F); // above every finite value
    const std::uint32_t all = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t bits = all & 0x7fffffffu;
    std::uint32_t result = 0x7cu;
    if (bits > infinity)
        result = 0x7fu;
    else if (bits < beyond)
        result = detail::rounded_to_8_bits(bits, 2, 15);
    return {static_cast<std::uint8_t>(result | (all >> 24 & 0x80u))};
}

} // namespace verbena
