#include "catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <thread>

#include <cuda_runtime_api.h>
#include <verbena/error.hpp>

#include "gpu_fixture.hpp"

using namespace verbena;
using namespace verbena::test;

namespace {

constexpr std::size_t guard = 64; // bytes before and after every buffer's elements
constexpr std::size_t max_inputs = 16;

/// Integers of every size; else values that add up without overflow, zeros of both signs among them.
template <class T>
std::vector<T> random_values(std::mt19937_64& random, std::size_t count) {
    std::vector<T> values(count);
    for (T& value : values) {
        if constexpr (std::is_integral_v<T>) {
            value = static_cast<T>(random());
        } else {
            value = std::uniform_real_distribution<T>(-2, 2)(random);
            if (random() % 8 == 0) value = std::copysign(T{0}, value);
        }
    }
    return values;
}

/// The left fold on the CPU: what the core does with host memory.
template <class T>
T fold(ReduceOp op, T a, T b) {
    if (op == ReduceOp::min) return a < b || a != a ? a : b; // NaN on either side stays; of equals the later
    if (op == ReduceOp::max) return a > b || a != a ? a : b;
    if constexpr (std::is_integral_v<T>) {
        const auto x = static_cast<std::uint64_t>(a);
        const auto y = static_cast<std::uint64_t>(b);
        return static_cast<T>(op == ReduceOp::prod ? x * y : x + y); // wraps modulo 2^n at any width
    } else {
        return op == ReduceOp::prod ? a * b : a + b;
    }
}

/// Where each input and the output start within their buffers, counted from the guard.
struct Layout {
    std::vector<std::size_t> input_offsets;
    std::size_t output_offset = 0;
    int in_place = -1; ///< the input that is also the output, or -1
};

/// Buffers large enough for any case, made once: allocation is not what is tested.
struct Arena {
    explicit Arena(MemoryKind kind, std::size_t bytes) : bytes_each(bytes + 2 * guard + 16) {
        for (std::size_t i = 0; i <= max_inputs; ++i) buffers.push_back(std::make_unique<Buffer>(kind, bytes_each));
    }
    std::size_t bytes_each;
    std::vector<std::unique_ptr<Buffer>> buffers; ///< the last is the output
};

/// Reduces on the GPU and compares every byte of the output's surroundings with the CPU's result.
template <class T>
std::vector<T> check_reduce(const Arena& arena, MemoryKind kind, ReduceOp op, const std::vector<std::vector<T>>& inputs,
                            const Layout& layout) {
    const std::size_t count = inputs[0].size();
    const auto bytes_of = [count](const std::vector<T>& values) { return std::as_bytes(std::span(values)); };
    std::vector<T> expected = inputs[0];
    for (std::size_t i = 1; i < inputs.size(); ++i) {
        for (std::size_t j = 0; j < count; ++j) expected[j] = fold(op, expected[j], inputs[i][j]);
    }
    const Buffer& target =
        layout.in_place < 0 ? *arena.buffers.back() : *arena.buffers[static_cast<std::size_t>(layout.in_place)];
    const std::size_t target_offset =
        guard +
        (layout.in_place < 0 ? layout.output_offset : layout.input_offsets[static_cast<std::size_t>(layout.in_place)]);
    target.write(0, std::vector<std::byte>(arena.bytes_each, std::byte{0xa5}));
    std::vector<const std::byte*> pointers;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (count != 0) arena.buffers[i]->write(guard + layout.input_offsets[i], bytes_of(inputs[i]));
        pointers.push_back(arena.buffers[i]->data() + guard + layout.input_offsets[i]);
    }
    spaces().space(kind).reduce(DataTypeOf<T>::value, op, target.data() + target_offset, pointers, count);

    const std::vector<std::byte> seen = target.read();
    std::vector<std::byte> image(arena.bytes_each, std::byte{0xa5});
    for (std::size_t j = 0; j < count; ++j) {
        const std::size_t at = target_offset + j * sizeof(T);
        T element;
        std::memcpy(&element, seen.data() + at, sizeof(T));
        const bool both_nan = expected[j] != expected[j] && element != element; // the payload is free
        std::memcpy(image.data() + at, both_nan ? &element : &expected[j], sizeof(T));
    }
    const auto [wrong, right] = std::mismatch(seen.begin(), seen.end(), image.begin());
    CAPTURE(wrong - seen.begin(), target_offset);
    REQUIRE(wrong == seen.end());
    return expected;
}

Layout draw_layout(std::mt19937_64& random, std::size_t inputs, bool alike, std::size_t offset) {
    Layout layout;
    for (std::size_t i = 0; i < inputs; ++i) layout.input_offsets.push_back(alike ? offset : random() % 16);
    layout.output_offset = alike ? offset : random() % 16;
    layout.in_place = random() % 3 == 0 ? static_cast<int>(random() % inputs) : -1;
    return layout;
}

} // namespace

TEST_CASE("f32 sums of 2 to 16 inputs match a double reference at every size, offset and in place") {
    const MemoryKind kind = GENERATE(MemoryKind::device, MemoryKind::managed);
    const std::vector<std::size_t> sizes = {0,  1,  2,   3,   4,   5,    7,    8,     15,    16,
                                            17, 63, 255, 256, 257, 1023, 4099, 65537, 100000};
    const Arena arena(kind, sizes.back() * sizeof(float));
    std::mt19937_64 random(seed());
    for (std::size_t inputs = 2; inputs <= max_inputs; ++inputs) {
        for (const std::size_t size : sizes) {
            std::vector<std::vector<float>> values;
            for (std::size_t i = 0; i < inputs; ++i) values.push_back(random_values<float>(random, size));
            const bool every_offset = size <= 300 && kind == MemoryKind::device;
            for (std::size_t round = 0; round < (every_offset ? 20u : 3u); ++round) {
                const bool alike = round < (every_offset ? 16u : 2u);
                const Layout layout = draw_layout(random, inputs, alike, every_offset ? round : random() % 16);
                CAPTURE(seed(), inputs, size, layout.input_offsets, layout.output_offset, layout.in_place);
                const std::vector<float> result = check_reduce(arena, kind, ReduceOp::sum, values, layout);
                for (std::size_t j = 0; round == 0 && j < size; ++j) {
                    double exact = 0;
                    double magnitude = 0;
                    for (const std::vector<float>& input : values) {
                        exact += input[j];
                        magnitude += std::fabs(input[j]);
                    }
                    const double bound =
                        static_cast<double>(inputs) * std::numeric_limits<float>::epsilon() * magnitude;
                    if (std::fabs(result[j] - exact) > bound)
                        FAIL("element " << j << ": " << result[j] << " for " << exact);
                }
            }
        }
    }
}

TEMPLATE_TEST_CASE("every operation on every type gives what the CPU gives, bit for bit", "", std::int8_t, std::uint8_t,
                   std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, float, double) {
    const Arena arena(MemoryKind::device, 5000 * sizeof(TestType));
    std::mt19937_64 random(seed());
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max, ReduceOp::avg}) {
        for (const std::size_t inputs : {2u, 3u, 5u, 6u, 16u}) {
            for (const std::size_t size : {1u, 31u, 5000u}) {
                std::vector<std::vector<TestType>> values;
                for (std::size_t i = 0; i < inputs; ++i) values.push_back(random_values<TestType>(random, size));
                if constexpr (std::is_floating_point_v<TestType>) {
                    if (op == ReduceOp::min || op == ReduceOp::max) {
                        values[random() % inputs][random() % size] = std::numeric_limits<TestType>::quiet_NaN();
                    }
                }
                for (const std::size_t offset : {std::size_t{0}, sizeof(TestType), std::size_t{1}, std::size_t{16}}) {
                    const Layout layout = draw_layout(random, inputs, offset != 16, offset);
                    CAPTURE(seed(), name(op), inputs, size, layout.input_offsets, layout.output_offset,
                            layout.in_place);
                    check_reduce(arena, MemoryKind::device, op, values, layout);
                }
            }
        }
    }
}

TEST_CASE("a reduction is complete on return, also a large one") {
    constexpr std::size_t count = std::size_t{64}
                                  << 20; // 256 MiB each: far longer on the GPU than a read takes to start
    const std::vector<std::byte> ones = [] {
        const std::vector<float> values(count, 1.0f);
        const auto bytes = std::as_bytes(std::span(values));
        return std::vector<std::byte>(bytes.begin(), bytes.end());
    }();
    const Buffer first(MemoryKind::device, ones.size());
    const Buffer second(MemoryKind::device, ones.size());
    const Buffer sum(MemoryKind::device, ones.size());
    first.write(0, ones);
    second.write(0, ones);
    const std::byte* inputs[] = {first.data(), second.data()};
    spaces().space(MemoryKind::device).reduce(DataType::f32, ReduceOp::sum, sum.data(), inputs, count);
    float last = 0;
    REQUIRE(cudaMemcpy(&last, sum.data() + (count - 1) * sizeof(float), sizeof last, cudaMemcpyDefault) == cudaSuccess);
    CHECK(last == 2.0f);
}

TEST_CASE("a reduction that would fault is refused, and the GPU works on") {
    const Buffer device(MemoryKind::device, 64);
    const Buffer host(MemoryKind::host, 64);
    const Buffer managed(MemoryKind::managed, 64);
    mem::Space& space = spaces().space(MemoryKind::device);
    const auto refused = [&](std::byte* output, std::vector<const std::byte*> inputs, const char* reason) {
        try {
            space.reduce(DataType::f32, ReduceOp::sum, output, inputs, 16);
            FAIL("reduced");
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::invalid_argument);
            CHECK_THAT(error.what(), VERBENA_CONTAINS(reason));
        }
    };
    refused(host.data(), {device.data(), device.data()}, "is host memory");
    refused(device.data(), {device.data(), host.data()}, "is host memory");
    refused(device.data(), {device.data(), managed.data()}, "is managed memory");
    refused(device.data(), {device.data()}, "takes 2 to 16 inputs and was given 1");
    refused(device.data(), std::vector<const std::byte*>(17, device.data()), "was given 17");
    const std::byte* inputs[] = {device.data(), device.data()};
    CHECK_NOTHROW(space.reduce(DataType::i32, ReduceOp::max, device.data(), inputs, 16));
}
