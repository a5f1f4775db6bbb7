#include "catch.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include <verbena/error.hpp>

#include "gpu_stream.hpp"

using namespace verbena;
using namespace verbena::test;

namespace {

constexpr std::size_t block = GpuQuantisation::block;

float wide_value(DataType type, const std::byte* at) {
    Float16 half{};
    Bfloat16 brain{};
    float full = 0;
    if (type == DataType::f32) return std::memcpy(&full, at, 4), full;
    if (type == DataType::f16) return std::memcpy(&half, at, 2), to_float(half);
    return std::memcpy(&brain, at, 2), to_float(brain);
}

void store_wide(DataType type, std::byte* at, float value) {
    const Float16 half = to_float16(value);
    const Bfloat16 brain = to_bfloat16(value);
    if (type == DataType::f32)
        std::memcpy(at, &value, 4);
    else
        std::memcpy(at, type == DataType::f16 ? static_cast<const void*>(&half) : &brain, 2);
}

float code_value(DataType code, std::uint8_t bits) {
    return code == DataType::f8e4m3 ? to_float(Float8E4m3{bits}) : to_float(Float8E5m2{bits});
}

/// Whole blocks of very different magnitude, blocks of zeros, and now and then what is no number.
std::vector<std::byte> draw(DataType wide, std::size_t count, std::mt19937_64& random, bool with_specials) {
    std::vector<std::byte> bytes(count * size_of(wide));
    float magnitude = 1;
    for (std::size_t i = 0; i < count; ++i) {
        if (i % block == 0) magnitude = random() % 8 == 0 ? 0 : std::ldexp(1.0F, static_cast<int>(random() % 24) - 12);
        float value = magnitude * std::uniform_real_distribution<float>(-1, 1)(random);
        if (with_specials && random() % 61 == 0) {
            const float infinity = std::numeric_limits<float>::infinity();
            value = random() % 2 == 0   ? std::numeric_limits<float>::quiet_NaN()
                    : random() % 2 == 0 ? infinity
                                        : -infinity;
        }
        store_wide(wide, bytes.data() + i * size_of(wide), value);
    }
    return bytes;
}

} // namespace

TEST_CASE("quantised values are the nearest codes of their block's scale, and come back as code times scale") {
    std::mt19937_64 random(seed());
    const TestStream stream;
    for (std::size_t round = 0; round < 90; ++round) {
        const DataType wide = std::vector{DataType::f32, DataType::f16, DataType::bf16}[round % 3];
        const DataType code = round / 3 % 2 == 0 ? DataType::f8e4m3 : DataType::f8e5m2;
        const std::size_t count = round % 5 == 0 ? 1 + random() % 300 : 1 + random() % 100000;
        const bool is_aligned = random() % 2 == 0;
        const std::size_t value_offset = is_aligned ? 16 : random() % 32;
        const std::size_t code_offset = is_aligned ? 16 : random() % 32;
        CAPTURE(seed(), round, name(wide), name(code), count, value_offset, code_offset);
        const std::vector<std::byte> drawn = draw(wide, count, random, round % 2 == 1);
        const std::size_t blocks = (count + block - 1) / block;
        const Buffer values(MemoryKind::device, drawn.size() + 64);
        const Buffer codes(MemoryKind::device, count + 64);
        const Buffer scales(MemoryKind::device, (blocks + 2) * 4);
        const Buffer back(MemoryKind::device, drawn.size() + 64);
        values.write(value_offset, drawn);
        GpuQuantisation what;
        what.wide = wide;
        what.code = code;
        what.values = values.data() + value_offset;
        what.codes = codes.data() + code_offset;
        what.scales = reinterpret_cast<float*>(scales.data()) + 1;
        what.count = count;
        const int multiprocessors = random() % 3 == 0 ? 2 : 0;
        kernels().quantise(what, stream.on(multiprocessors));
        GpuQuantisation reverse = what;
        reverse.values = back.data() + value_offset;
        kernels().dequantise(reverse, stream.on(multiprocessors));
        stream.wait();

        const std::vector<std::byte> got = codes.read();
        const std::vector<std::byte> returned = back.read();
        const auto scale = get<float>(scales, 4, blocks);
        for (std::size_t i = 0; i < got.size(); ++i) {
            if ((i < code_offset || i >= code_offset + count) && got[i] != std::byte{0xa5})
                FAIL("wrote beside codes, " << i);
        }
        for (std::size_t i = 0; i < returned.size(); ++i) {
            if ((i < value_offset || i >= value_offset + drawn.size()) && returned[i] != std::byte{0xa5})
                FAIL("wrote beside values, " << i);
        }
        CHECK(scales.read()[0] == std::byte{0xa5});
        CHECK(get<std::uint32_t>(scales, 4 + blocks * 4, 1)[0] == 0xa5a5a5a5u);
        const float top = code == DataType::f8e4m3 ? 448.0F : 57344.0F;
        for (std::size_t b = 0; b < blocks; ++b) {
            float magnitude = 0;
            for (std::size_t i = b * block; i < std::min(count, (b + 1) * block); ++i) {
                const float value = std::fabs(wide_value(wide, &drawn[i * size_of(wide)]));
                if (std::isfinite(value)) magnitude = std::max(magnitude, value);
            }
            const float expected = magnitude > 0 ? std::max(magnitude * (1 / top), 0x1p-126F) : 1.0F;
            if (scale[b] != expected) FAIL("scale " << b << ": " << scale[b] << " for " << expected);
            for (std::size_t i = b * block; i < std::min(count, (b + 1) * block); ++i) {
                const float value = wide_value(wide, &drawn[i * size_of(wide)]);
                const auto bits = std::to_integer<std::uint8_t>(got[code_offset + i]);
                const float decoded = code_value(code, bits);
                const float seen = wide_value(wide, &returned[value_offset + i * size_of(wide)]);
                if (!std::isfinite(value)) {
                    const bool is_right =
                        code == DataType::f8e5m2 && std::isinf(value) ? decoded == value : std::isnan(decoded);
                    if (!is_right) FAIL("element " << i << ": " << value << " became " << decoded);
                    if (std::isnan(decoded) ? !std::isnan(seen) : seen != decoded)
                        FAIL("element " << i << " came back " << seen);
                    continue;
                }
                const double exact = static_cast<double>(value) / static_cast<double>(scale[b]);
                const double step = code == DataType::f8e4m3 ? std::max(std::fabs(exact) * 0x1p-4, 0x1p-10)
                                                             : std::max(std::fabs(exact) * 0x1p-3, 0x1p-17);
                if (!(std::fabs(static_cast<double>(decoded) - exact) <= step * 1.00001))
                    FAIL("element " << i << ": " << decoded << " for " << exact);
                std::vector<std::byte> rounded(size_of(wide));
                store_wide(wide, rounded.data(), decoded * scale[b]);
                if (wide_value(wide, rounded.data()) != seen)
                    FAIL("element " << i << " came back " << seen << " for " << decoded * scale[b]);
            }
        }
    }
}

TEST_CASE("quantisation refuses types that do not go together, and scales off their alignment") {
    const TestStream stream;
    const Buffer memory(MemoryKind::device, 4096);
    GpuQuantisation what{DataType::f64,
                         DataType::f8e4m3,
                         memory.data(),
                         memory.data() + 2048,
                         reinterpret_cast<float*>(memory.data() + 3072),
                         128};
    CHECK_THROWS_AS(kernels().quantise(what, stream.on()), Error);
    what.wide = DataType::f32;
    what.code = DataType::i8;
    CHECK_THROWS_AS(kernels().dequantise(what, stream.on()), Error);
    what.code = DataType::f8e5m2;
    CHECK_NOTHROW(kernels().quantise(what, stream.on()));
    what.scales = reinterpret_cast<float*>(memory.data() + 3073);
    CHECK_THROWS_AS(kernels().quantise(what, stream.on()), Error);
    stream.wait();
}
