/// @file
/// Element types on the device: what each is computed in, and 16 bytes of them at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

namespace verbena::gpudirect {

inline constexpr std::size_t vector_bytes = 16; // the widest load of one thread

struct E4m3 {
    std::uint8_t bits;
};
struct E5m2 {
    std::uint8_t bits;
};

template <class T>
inline constexpr bool is_8_bit_float = std::is_same_v<T, E4m3> || std::is_same_v<T, E5m2>;
template <class T>
inline constexpr bool is_short_float =
    std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16> || is_8_bit_float<T>;

/// What an element is computed in, as on the host (lib/coll/reduce.cpp).
template <class T>
using Computed = std::conditional_t<is_short_float<T>, float, T>;

template <class T>
inline constexpr std::size_t width = vector_bytes / sizeof(T);

template <class T>
struct alignas(vector_bytes) Lanes {
    T lane[width<T>];
};
template <class T>
struct WideLanes {
    Computed<T> lane[width<T>];
};

template <class T>
inline constexpr __nv_fp8_interpretation_t format_of = std::is_same_v<T, E4m3> ? __NV_E4M3 : __NV_E5M2;

/// The conversion instruction saturates; the host's rule is infinity beyond the range, and NaN where there is none.
template <class T>
__device__ std::uint8_t beyond_range(float value, std::uint8_t nearest) {
    const auto sign = static_cast<std::uint8_t>(signbit(value) ? 0x80 : 0);
    if constexpr (std::is_same_v<T, E4m3>) {
        return fabsf(value) <= 464.0f ? nearest : static_cast<std::uint8_t>(sign | 0x7f);
    } else {
        if (fabsf(value) < 61440.0f) return nearest;
        return static_cast<std::uint8_t>(sign | (isnan(value) ? 0x7f : 0x7c));
    }
}

template <class T>
__device__ Computed<T> widened(T value) {
    if constexpr (std::is_same_v<T, __half>)
        return __half2float(value);
    else if constexpr (std::is_same_v<T, __nv_bfloat16>)
        return __bfloat162float(value);
    else if constexpr (is_8_bit_float<T>)
        return __half2float(__half(__nv_cvt_fp8_to_halfraw(value.bits, format_of<T>)));
    else
        return value;
}

template <class T>
__device__ T narrowed(Computed<T> value) {
    if constexpr (std::is_same_v<T, __half>)
        return __float2half_rn(value);
    else if constexpr (std::is_same_v<T, __nv_bfloat16>)
        return __float2bfloat16_rn(value);
    else if constexpr (is_8_bit_float<T>)
        return {beyond_range<T>(value, __nv_cvt_float_to_fp8(value, __NV_SATFINITE, format_of<T>))};
    else
        return value;
}

/// Bytes `half` and `half + 1` of a word. e5m2 is the upper half of a binary16: that costs no conversion.
template <class T>
__device__ float2 widened_pair(std::uint32_t word, unsigned half) {
    __half2 pair;
    if constexpr (std::is_same_v<T, E5m2>) {
        const std::uint32_t in_upper_halves = __byte_perm(word, 0, half == 0 ? 0x1404 : 0x3424);
        memcpy(&pair, &in_upper_halves, sizeof(pair));
    } else {
        pair = __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(word >> (half * 8)), __NV_E4M3);
    }
    return __half22float2(pair);
}

template <class T, std::size_t count>
__device__ void widen(const T (&from)[count], Computed<T> (&to)[count]) {
    if constexpr (is_8_bit_float<T>) {
#pragma unroll
        for (std::size_t i = 0; i < count; i += 4) {
            std::uint32_t word;
            memcpy(&word, &from[i], sizeof(word));
#pragma unroll
            for (unsigned half = 0; half < 4; half += 2) {
                const float2 both = widened_pair<T>(word, half);
                to[i + half] = both.x;
                to[i + half + 1] = both.y;
            }
        }
    } else {
#pragma unroll
        for (std::size_t i = 0; i < count; ++i) to[i] = widened(from[i]);
    }
}

/// Of 8-bit floats beyond the range: the largest finite value, where narrow() has the host's rule.
template <class T, std::size_t count>
__device__ void narrow_saturated(const Computed<T> (&from)[count], T (&to)[count]) {
#pragma unroll
    for (std::size_t i = 0; i < count; i += 4) {
        const std::uint32_t low = __nv_cvt_float2_to_fp8x2({from[i], from[i + 1]}, __NV_SATFINITE, format_of<T>);
        const std::uint32_t high = __nv_cvt_float2_to_fp8x2({from[i + 2], from[i + 3]}, __NV_SATFINITE, format_of<T>);
        const std::uint32_t word = low | high << 16;
        memcpy(&to[i], &word, sizeof(word));
    }
}

template <class T, std::size_t count>
__device__ void narrow(const Computed<T> (&from)[count], T (&to)[count]) {
    if constexpr (is_8_bit_float<T>) {
        bool fits = true;
#pragma unroll
        for (std::size_t i = 0; i < count; ++i)
            fits &= std::is_same_v<T, E4m3> ? fabsf(from[i]) <= 464.0f : fabsf(from[i]) < 61440.0f;
        narrow_saturated<T>(from, to);
        if (fits) return;
#pragma unroll
        for (std::size_t i = 0; i < count; ++i) to[i].bits = beyond_range<T>(from[i], to[i].bits);
    } else if constexpr (std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>) {
#pragma unroll
        for (std::size_t i = 0; i < count; i += 2) {
            const float2 both{from[i], from[i + 1]};
            if constexpr (std::is_same_v<T, __half>) {
                const __half2 pair = __float22half2_rn(both);
                memcpy(&to[i], &pair, sizeof(pair));
            } else {
                const __nv_bfloat162 pair = __float22bfloat162_rn(both);
                memcpy(&to[i], &pair, sizeof(pair));
            }
        }
    } else {
#pragma unroll
        for (std::size_t i = 0; i < count; ++i) to[i] = from[i];
    }
}

/// Bulk data passes once: it need not stay in the caches. Not the read-only path, since output may be an input.
template <class T>
__device__ Lanes<T> load_vector(const std::byte* address) {
    const uint4 raw = __ldcs(reinterpret_cast<const uint4*>(address));
    Lanes<T> lanes;
    memcpy(&lanes, &raw, vector_bytes);
    return lanes;
}

template <class T>
__device__ void store_vector(std::byte* address, const Lanes<T>& lanes) {
    uint4 raw;
    memcpy(&raw, &lanes, vector_bytes);
    __stcs(reinterpret_cast<uint4*>(address), raw);
}

/// An element at any address. Byte by byte where it is misaligned, which as one load would fault; volatile, because the
/// compiler else takes both branches for the same load.
template <class T>
__device__ T load_element(const std::byte* address, bool is_aligned) {
    if (is_aligned) return *reinterpret_cast<const T*>(address);
    const auto* from = reinterpret_cast<const volatile unsigned char*>(address);
    unsigned char bytes[sizeof(T)];
#pragma unroll
    for (std::size_t i = 0; i < sizeof(T); ++i) bytes[i] = from[i];
    T value;
    memcpy(&value, bytes, sizeof(T));
    return value;
}

template <class T>
__device__ void store_element(std::byte* address, T value, bool is_aligned) {
    if (is_aligned) {
        *reinterpret_cast<T*>(address) = value;
        return;
    }
    unsigned char bytes[sizeof(T)];
    memcpy(bytes, &value, sizeof(T));
    auto* to = reinterpret_cast<volatile unsigned char*>(address);
#pragma unroll
    for (std::size_t i = 0; i < sizeof(T); ++i) to[i] = bytes[i];
}

} // namespace verbena::gpudirect
