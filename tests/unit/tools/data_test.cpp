#include "catch.hpp"

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "pattern.hpp"
#include "reduction_values.hpp"

using namespace verbena;
using namespace verbena::tools;

namespace {

/// Integers wrap, as they are defined to: computed without a sign, where that is no undefined behaviour.
template <class T>
auto wide(T value) {
    if constexpr (std::is_integral_v<T>) {
        return static_cast<std::uint64_t>(value);
    } else {
        return value;
    }
}

/// The right result, computed by another way than find_wrong_elements(): element by element in long double or 64 bits.
template <class T>
std::vector<T> reduced(const Reduction& reduction, std::size_t count) {
    std::vector<std::vector<T>> inputs(reduction.ranks, std::vector<T>(count));
    for (std::uint32_t rank = 0; rank < reduction.ranks; ++rank) {
        fill_input(std::as_writable_bytes(std::span(inputs[rank])), reduction, rank);
    }
    std::vector<T> result = inputs[0];
    for (std::size_t i = 0; i < count; ++i) {
        for (std::uint32_t rank = 1; rank < reduction.ranks; ++rank) {
            const T next = inputs[rank][i];
            switch (reduction.op) {
            case ReduceOp::sum:
            case ReduceOp::avg:
                result[i] = static_cast<T>(wide(result[i]) + wide(next));
                break;
            case ReduceOp::prod:
                result[i] = static_cast<T>(wide(result[i]) * wide(next));
                break;
            case ReduceOp::min:
                result[i] = next < result[i] ? next : result[i];
                break;
            case ReduceOp::max:
                result[i] = next > result[i] ? next : result[i];
                break;
            }
        }
        if (reduction.op == ReduceOp::avg) result[i] = static_cast<T>(result[i] / static_cast<T>(reduction.ranks));
    }
    return result;
}

template <class T>
void check_type(DataType type) {
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max, ReduceOp::avg}) {
        for (const std::uint32_t ranks : {1u, 2u, 3u, 8u, 64u}) {
            const Reduction reduction{type, op, ranks, 5};
            std::vector<T> result = reduced<T>(reduction, 300);
            CAPTURE(name(type), name(op), ranks);
            CHECK_FALSE(find_wrong_elements(std::as_bytes(std::span(result)), reduction));
            result[123] = static_cast<T>(result[123] + 1);
            const auto wrong = find_wrong_elements(std::as_bytes(std::span(result)), reduction);
            REQUIRE(wrong);
            CHECK(wrong->count == 1);
            CHECK(wrong->first_offset == 123);
            CHECK(wrong->expected != wrong->got);
        }
    }
}

} // namespace

TEST_CASE("a pattern is found whole at every length, and any changed byte is found with its place") {
    const std::size_t length = GENERATE(0u, 1u, 7u, 8u, 9u, 4096u, 4099u);
    std::vector<std::byte> memory(length + 1, std::byte{0x77});
    const std::span<std::byte> bytes = std::span(memory).first(length);
    fill_pattern(bytes, 42);
    CHECK(memory[length] == std::byte{0x77});
    CHECK_FALSE(find_wrong(bytes, 42));
    for (std::size_t at = 0; at < length; at += 1 + length / 13) {
        bytes[at] ^= std::byte{0x10};
        const auto wrong = find_wrong(bytes, 42);
        REQUIRE(wrong);
        CHECK(wrong->offset == at);
        CHECK((wrong->expected ^ wrong->got) == 0x10);
        bytes[at] ^= std::byte{0x10};
    }
}

TEST_CASE("the pattern of another seed, or one that is shifted, is wrong") {
    std::vector<std::byte> memory(64);
    fill_pattern(memory, 1);
    CHECK(find_wrong(memory, 2));
    CHECK(find_wrong(std::span(memory).subspan(8), 1));
    CHECK(find_wrong(std::vector<std::byte>(64), 1));
}

TEST_CASE("the right reduction passes and one wrong element is named, for every type, operation and rank count") {
    check_type<std::int8_t>(DataType::i8);
    check_type<std::uint8_t>(DataType::u8);
    check_type<std::int32_t>(DataType::i32);
    check_type<std::uint32_t>(DataType::u32);
    check_type<std::int64_t>(DataType::i64);
    check_type<std::uint64_t>(DataType::u64);
    check_type<float>(DataType::f32);
    check_type<double>(DataType::f64);
}

TEST_CASE("a result that misses a rank, doubles one, or is of another iteration is wrong") {
    const Reduction reduction{DataType::f32, ReduceOp::sum, 4, 7};
    const std::vector<float> all = reduced<float>(reduction, 256);
    std::vector<float> one(256);
    fill_input(std::as_writable_bytes(std::span(one)), reduction, 2);
    std::vector<float> missing = all;
    std::vector<float> doubled = all;
    for (std::size_t i = 0; i < all.size(); ++i) {
        missing[i] -= one[i];
        doubled[i] += one[i];
    }
    CHECK(find_wrong_elements(std::as_bytes(std::span(missing)), reduction)->count > 250);
    CHECK(find_wrong_elements(std::as_bytes(std::span(doubled)), reduction)->count > 250);
    const Reduction other{DataType::f32, ReduceOp::sum, 4, 8};
    CHECK(find_wrong_elements(std::as_bytes(std::span(all)), other)->count > 250);
}

TEST_CASE("16-bit floats add up exactly in any order, and a rank that is missing is noticed") {
    const DataType type = GENERATE(DataType::f16, DataType::bf16);
    const ReduceOp op = GENERATE(ReduceOp::sum, ReduceOp::prod);
    const auto ranks = GENERATE(2u, 7u, 64u);
    const Reduction reduction{type, op, ranks, 3};
    const auto value = [type](std::uint16_t bits) {
        return type == DataType::f16 ? to_float(Float16{bits}) : to_float(Bfloat16{bits});
    };
    const auto rounded = [type](float number) {
        return type == DataType::f16 ? to_float16(number).bits : to_bfloat16(number).bits;
    };
    std::vector<std::uint16_t> result(256);
    std::vector<std::uint16_t> missing;
    for (std::uint32_t rank = ranks; rank-- > 0;) { // the other way round, rounding at each step
        std::vector<std::uint16_t> input(256);
        fill_input(std::as_writable_bytes(std::span(input)), reduction, rank);
        for (std::size_t i = 0; i < input.size(); ++i) {
            const float so_far = value(result[i]);
            const float next = value(input[i]);
            result[i] = rank == ranks - 1 ? input[i] : rounded(op == ReduceOp::sum ? so_far + next : so_far * next);
        }
        if (rank == 1) missing = result;
    }
    CHECK_FALSE(find_wrong_elements(std::as_bytes(std::span(result)), reduction));
    CHECK(find_wrong_elements(std::as_bytes(std::span(missing)), reduction)->count > 50);
}

TEST_CASE("what one rank sent is told from what another did, and from another place") {
    const Reduction reduction{GENERATE(DataType::i8, DataType::f32, DataType::bf16), ReduceOp::sum, 4, 1};
    std::vector<std::byte> memory(512 * size_of(reduction.type));
    fill_input(memory, reduction, 2);
    const auto upper = std::span(memory).subspan(memory.size() / 2);
    CHECK_FALSE(find_wrong_elements(memory, reduction, {2, 0}));
    CHECK_FALSE(find_wrong_elements(upper, reduction, {2, 256}));
    CHECK(find_wrong_elements(upper, reduction, {1, 256})->count > 200);
    CHECK(find_wrong_elements(upper, reduction, {2, 255})->count > 200);
}

TEST_CASE("memory that was never written is wrong") {
    const std::vector<std::byte> untouched(1024, std::byte{0xa5});
    for (const DataType type :
         {DataType::i8, DataType::i32, DataType::f32, DataType::f64, DataType::f16, DataType::bf16}) {
        CHECK(find_wrong_elements(untouched, {type, ReduceOp::sum, 3, 0}));
    }
}
