#include "sim/address.hpp"

#include <array>
#include <cstring>

namespace verbena::sim {
namespace {

constexpr std::array<char, 4> tag{'v', 's', 'i', 'm'};
constexpr std::size_t encoded_bytes = sizeof tag + sizeof(EndAddress);
static_assert(encoded_bytes == 20);

} // namespace

wire::Address encode(const EndAddress& address) {
    wire::Address bytes(encoded_bytes);
    std::memcpy(bytes.data(), tag.data(), sizeof tag);
    std::memcpy(bytes.data() + sizeof tag, &address, sizeof address); // never leaves the process
    return bytes;
}

std::optional<EndAddress> decode(std::span<const std::byte> bytes) {
    if (bytes.size() != encoded_bytes || std::memcmp(bytes.data(), tag.data(), sizeof tag) != 0) return std::nullopt;
    EndAddress address;
    std::memcpy(&address, bytes.data() + sizeof tag, sizeof address);
    return address;
}

} // namespace verbena::sim
