#include "pattern.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace verbena::tools {
namespace {

constexpr std::size_t word_bytes = sizeof(std::uint64_t);
static_assert(std::endian::native == std::endian::little, "both ends must lay the words out alike");

std::array<std::byte, word_bytes> word_at(std::size_t offset, std::uint64_t seed) noexcept {
    return std::bit_cast<std::array<std::byte, word_bytes>>(mixed(mixed(seed + 1) + offset));
}

} // namespace

void fill_pattern(std::span<std::byte> memory, std::uint64_t seed) noexcept {
    for (std::size_t offset = 0; offset < memory.size(); offset += word_bytes) {
        const auto word = word_at(offset, seed);
        std::memcpy(memory.data() + offset, word.data(), std::min(word_bytes, memory.size() - offset));
    }
}

std::optional<WrongByte> find_wrong(std::span<const std::byte> memory, std::uint64_t seed) noexcept {
    for (std::size_t offset = 0; offset < memory.size(); offset += word_bytes) {
        const auto word = word_at(offset, seed);
        const std::size_t length = std::min(word_bytes, memory.size() - offset);
        if (std::memcmp(memory.data() + offset, word.data(), length) == 0) continue;
        for (std::size_t i = 0; i < length; ++i) {
            const std::byte got = memory[offset + i];
            if (got != word[i]) {
                return WrongByte{offset + i, std::to_integer<unsigned>(word[i]), std::to_integer<unsigned>(got)};
            }
        }
    }
    return std::nullopt;
}

} // namespace verbena::tools
