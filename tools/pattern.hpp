/// @file
/// Bytes that tell where they come from, to check that what arrived is what was sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace verbena::tools {

/// Every bit of `value` depends on every bit of the input (the finalizer of splitmix64).
[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t value) noexcept {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

/// Fills with the pattern of `seed`: each 8 bytes differ from those of every other place and seed.
void fill_pattern(std::span<std::byte> memory, std::uint64_t seed) noexcept;

struct WrongByte {
    std::size_t offset = 0;
    unsigned expected = 0;
    unsigned got = 0;
};

/// The first byte that is not the pattern's; nothing when all are.
[[nodiscard]] std::optional<WrongByte> find_wrong(std::span<const std::byte> memory, std::uint64_t seed) noexcept;

} // namespace verbena::tools
