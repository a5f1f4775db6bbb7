#include "reliable/address.hpp"

#include <cstring>

namespace verbena::reliable {
namespace {

struct Form {
    std::uint32_t magic = 0x44554256; // "VBUD"
    std::uint16_t version = 1;
    std::uint16_t reserved = 0;
    std::uint64_t session = 0;
    std::uint32_t rank = 0;
    std::uint32_t first_sequence = 0;
    std::uint32_t packet_bytes = 0;
    std::uint32_t queue_pair = 0;
    std::uint32_t native_bytes = 0;
    std::uint32_t zero = 0;
};
static_assert(sizeof(Form) == 40);

constexpr std::uint32_t most_ranks = 1u << 24; ///< bound of the setting size
constexpr std::uint32_t least_packet_bytes = 256;
constexpr std::uint32_t most_packet_bytes = 65536;

} // namespace

wire::Address encode(const EndAddress& address) {
    Form form;
    form.session = address.session;
    form.rank = address.rank;
    form.first_sequence = address.first_sequence;
    form.packet_bytes = address.packet_bytes;
    form.queue_pair = address.queue_pair;
    form.native_bytes = static_cast<std::uint32_t>(address.native.size());
    wire::Address bytes(sizeof form + address.native.size());
    std::memcpy(bytes.data(), &form, sizeof form);
    std::memcpy(bytes.data() + sizeof form, address.native.data(), address.native.size());
    return bytes;
}

std::optional<EndAddress> decode(std::span<const std::byte> bytes) noexcept {
    const Form expected;
    Form form;
    if (bytes.size() < sizeof form || bytes.size() > wire::max_address_bytes) return std::nullopt;
    std::memcpy(&form, bytes.data(), sizeof form);
    if (form.magic != expected.magic || form.version != expected.version || form.reserved != 0 || form.zero != 0) {
        return std::nullopt;
    }
    if (form.rank >= most_ranks || form.packet_bytes < least_packet_bytes || form.packet_bytes > most_packet_bytes ||
        form.native_bytes != bytes.size() - sizeof form) {
        return std::nullopt;
    }
    return EndAddress{form.rank,         form.session,    form.first_sequence,
                      form.packet_bytes, form.queue_pair, bytes.subspan(sizeof form)};
}

} // namespace verbena::reliable
