#include "catch.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include <verbena/error.hpp>

#include "gpu_stream.hpp"

using namespace verbena;
using namespace verbena::test;

TEST_CASE("rows packed by an index and unpacked by it are where they were, and nothing else moved") {
    std::mt19937_64 random(seed());
    const TestStream stream;
    for (std::size_t round = 0; round < 60; ++round) {
        const std::size_t row_bytes = std::vector<std::size_t>{1, 6, 16, 36, 257, 1024, 7168, 14336}[random() % 8];
        const std::size_t rows = 1 + random() % 200;
        const std::size_t slots = random() % (rows + 1);
        const std::size_t offset = random() % 2 == 0 ? 0 : random() % 20;
        CAPTURE(seed(), round, row_bytes, rows, slots, offset);
        std::vector<std::int32_t> index(rows);
        std::iota(index.begin(), index.end(), 0);
        std::shuffle(index.begin(), index.end(), random);
        index.resize(slots);
        for (std::int32_t& each : index) each = random() % 9 == 0 ? -1 - static_cast<std::int32_t>(random() % 5) : each;

        const std::vector<std::byte> drawn = random_bytes(rows * row_bytes, random());
        const Buffer source(MemoryKind::device, rows * row_bytes + 32);
        const Buffer packed(MemoryKind::device, slots * row_bytes + 32);
        const Buffer target(MemoryKind::device, rows * row_bytes + 32);
        const Buffer where(MemoryKind::device, rows * 4 + 4);
        source.write(offset, drawn);
        put(where, 0, index);
        GpuRows what{reinterpret_cast<const std::int32_t*>(where.data()), slots, row_bytes, source.data() + offset,
                     packed.data() + offset};
        const int multiprocessors = random() % 3 == 0 ? 1 : 0;
        kernels().pack(what, stream.on(multiprocessors));
        what.rows = target.data() + offset;
        kernels().unpack(what, stream.on(multiprocessors));
        stream.wait();

        std::vector<std::byte> expected_packed(slots * row_bytes + 32, std::byte{0xa5});
        std::vector<std::byte> expected(rows * row_bytes + 32, std::byte{0xa5});
        for (std::size_t i = 0; i < slots; ++i) {
            if (index[i] < 0) continue;
            const std::size_t row = static_cast<std::size_t>(index[i]);
            std::copy_n(&drawn[row * row_bytes], row_bytes, &expected_packed[offset + i * row_bytes]);
            std::copy_n(&drawn[row * row_bytes], row_bytes, &expected[offset + row * row_bytes]);
        }
        CHECK(packed.read() == expected_packed);
        CHECK(target.read() == expected);
    }
}

TEMPLATE_TEST_CASE("rows are combined by their weights within rounding of a double reference", "", float, Float16,
                   Bfloat16) {
    const auto to_type = [](float value) {
        if constexpr (std::is_same_v<TestType, float>)
            return value;
        else if constexpr (std::is_same_v<TestType, Float16>)
            return to_float16(value);
        else
            return to_bfloat16(value);
    };
    const auto to_number = [](TestType value) {
        if constexpr (std::is_same_v<TestType, float>)
            return static_cast<double>(value);
        else
            return static_cast<double>(to_float(value));
    };
    std::mt19937_64 random(seed());
    const TestStream stream;
    for (std::size_t round = 0; round < 30; ++round) {
        const std::size_t hidden = std::vector<std::size_t>{1, 7, 64, 1000, 7168}[random() % 5];
        const std::size_t tokens = 1 + random() % 50;
        const std::size_t choices = random() % 9;
        const std::size_t offset = random() % 2 == 0 ? 0 : random() % 2 == 0 ? sizeof(TestType) : 1;
        CAPTURE(seed(), round, hidden, tokens, choices, offset);
        const std::size_t packed_rows = 1 + random() % 100;
        std::vector<TestType> packed(packed_rows * hidden);
        for (TestType& each : packed) each = to_type(std::uniform_real_distribution<float>(-2, 2)(random));
        std::vector<std::int32_t> slots(tokens * choices);
        for (std::int32_t& each : slots)
            each = random() % 7 == 0 ? -1 : static_cast<std::int32_t>(random() % packed_rows);
        std::vector<float> weights(tokens * choices);
        for (float& each : weights) each = std::uniform_real_distribution<float>(0, 1)(random);

        const Buffer memory(MemoryKind::device, packed.size() * sizeof(TestType) + 16);
        const Buffer output(MemoryKind::device, tokens * hidden * sizeof(TestType) + 16);
        const Buffer chosen(MemoryKind::device, slots.size() * 4 + 4);
        const Buffer factors(MemoryKind::device, weights.size() * 4 + 4);
        put(memory, offset, packed);
        put(chosen, 0, slots);
        put(factors, 0, weights);
        GpuCombination what;
        what.type = DataTypeOf<TestType>::value;
        what.output = output.data() + offset;
        what.packed = memory.data() + offset;
        what.slots = reinterpret_cast<const std::int32_t*>(chosen.data());
        what.weights = reinterpret_cast<const float*>(factors.data());
        what.tokens = tokens;
        what.hidden = hidden;
        what.choices = choices;
        kernels().combine(what, stream.on(random() % 3 == 0 ? 1 : 0));
        stream.wait();
        const auto got = get<TestType>(output, offset, tokens * hidden);
        const double step = std::is_same_v<TestType, float> ? 0 : std::is_same_v<TestType, Float16> ? 0x1p-11 : 0x1p-8;
        for (std::size_t i = 0; i < got.size(); ++i) {
            double exact = 0;
            double magnitude = 0;
            for (std::size_t k = 0; k < choices; ++k) {
                const std::int32_t slot = slots[i / hidden * choices + k];
                if (slot < 0) continue;
                const double term = static_cast<double>(weights[i / hidden * choices + k]) *
                                    to_number(packed[static_cast<std::size_t>(slot) * hidden + i % hidden]);
                exact += term;
                magnitude += std::fabs(term);
            }
            const double bound = magnitude * 0x1p-20 + std::fabs(exact) * step * 1.001 + 0x1p-25;
            if (!(std::fabs(to_number(got[i]) - exact) <= bound))
                FAIL("element " << i << ": " << to_number(got[i]) << " for " << exact);
        }
        const std::vector<std::byte> all = output.read();
        for (std::size_t i = 0; i < all.size(); ++i) {
            const bool is_inside = i >= offset && i < offset + got.size() * sizeof(TestType);
            if (!is_inside && all[i] != std::byte{0xa5}) FAIL("wrote beside the output, " << i);
        }
    }
}
