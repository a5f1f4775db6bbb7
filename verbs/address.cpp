#include "verbs/address.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

namespace verbena::verbs {
namespace {

constexpr std::array rc_magic = {std::byte{'V'}, std::byte{'B'}, std::byte{'R'}, std::byte{'C'}};
constexpr std::array ud_magic = {std::byte{'V'}, std::byte{'B'}, std::byte{'U'}, std::byte{'D'}};
constexpr std::uint32_t max_24_bit = 0xffffff;
constexpr std::array<std::string_view, 3> gid_types = {"IB", "RoCE v1", "RoCE v2"};

struct Field {
    std::size_t offset;
    std::size_t size;
};
constexpr Field version{4, 2}, size{6, 2}, number{8, 4}, psn{12, 4}, lid{16, 2}, port{18, 1}, link_layer{19, 1},
    mtu{20, 2}, read_atomic{22, 2}, gid_type{24, 1}, zero_1{25, 1}, gid_index{26, 2}, qkey{28, 4}, gid{32, 16},
    device{48, 32}, netdev{80, 16};
static_assert(netdev.offset + netdev.size == address_bytes && address_bytes <= wire::max_address_bytes);

void put(wire::Address& out, Field field, std::uint32_t value) {
    for (std::size_t i = 0; i < field.size; ++i) out[field.offset + i] = static_cast<std::byte>(value >> (8 * i));
}

std::uint32_t get(std::span<const std::byte> in, Field field) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < field.size; ++i)
        value |= std::to_integer<std::uint32_t>(in[field.offset + i]) << (8 * i);
    return value;
}

void put_text(wire::Address& out, Field field, const std::string& text) {
    std::memcpy(&out[field.offset], text.data(), std::min(text.size(), field.size));
}

[[noreturn]] void refuse(const std::string& why) {
    throw Error(ErrorCode::protocol_violation, "the peer's queue pair address is not one: " + why,
                "both ends must run the same version of verbena and choose the backend verbs");
}

/// Printable text, then zeros to the end of the field: it goes to terminals and logs.
std::string get_text(std::span<const std::byte> in, Field field, std::string_view what) {
    std::string text;
    for (std::size_t i = 0; i < field.size; ++i) text += std::to_integer<char>(in[field.offset + i]);
    const std::size_t end = std::min(text.find('\0'), text.size());
    const bool printable = std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end),
                                       [](char c) { return c > ' ' && c < '\x7f'; });
    if (!printable || text.find_first_not_of('\0', end) != std::string::npos)
        refuse(fmt::format("its {} is no name", what));
    text.resize(end);
    return text;
}

std::uint32_t get_in(std::span<const std::byte> in, Field field, std::uint32_t low, std::uint32_t high,
                     std::string_view what) {
    const std::uint32_t value = get(in, field);
    if (value < low || value > high) refuse(fmt::format("{} {} is not within {} to {}", what, value, low, high));
    return value;
}

bool is_mtu(std::uint32_t bytes) { return bytes >= 256 && bytes <= 4096 && (bytes & (bytes - 1)) == 0; }

} // namespace

wire::Address encode(const QueuePairAddress& address) {
    wire::Address out(address_bytes);
    std::ranges::copy(address.qkey == 0 ? rc_magic : ud_magic, out.begin());
    put(out, version, address_version);
    put(out, size, address_bytes);
    put(out, number, address.number);
    put(out, psn, address.psn);
    put(out, qkey, address.qkey);
    put(out, lid, address.lid);
    put(out, port, address.port);
    put(out, link_layer, static_cast<std::uint32_t>(address.link_layer));
    put(out, mtu, address.active_mtu_bytes);
    put(out, read_atomic, address.max_read_atomic);
    put(out, gid_type, address.gid_type);
    put(out, gid_index, address.gid_index);
    std::copy(address.gid.begin(), address.gid.end(), out.begin() + gid.offset);
    put_text(out, device, address.device);
    put_text(out, netdev, address.netdev);
    return out;
}

QueuePairAddress decode(std::span<const std::byte> in) {
    if (in.size() != address_bytes) refuse(fmt::format("it has {} bytes instead of {}", in.size(), address_bytes));
    const auto& magic = get(in, qkey) == 0 ? rc_magic : ud_magic;
    if (!std::equal(magic.begin(), magic.end(), in.begin()))
        refuse("it begins with neither VBRC nor VBUD as its Q_Key says");
    if (get(in, version) != address_version || get(in, size) != address_bytes) {
        refuse(fmt::format("it is of version {}, {} bytes; ours is {}, {} bytes", get(in, version), get(in, size),
                           address_version, address_bytes));
    }
    if (get(in, zero_1) != 0) refuse("a reserved byte is not zero");
    QueuePairAddress address;
    address.number = get_in(in, number, 1, max_24_bit, "queue pair number");
    address.qkey = get(in, qkey);
    address.psn = get_in(in, psn, 0, max_24_bit, "PSN");
    address.lid = static_cast<std::uint16_t>(get(in, lid));
    address.port = static_cast<std::uint8_t>(get_in(in, port, 1, 255, "port"));
    address.link_layer = static_cast<LinkLayer>(get_in(in, link_layer, 1, 2, "link layer"));
    address.active_mtu_bytes = static_cast<std::uint16_t>(get(in, mtu));
    if (!is_mtu(address.active_mtu_bytes)) refuse(fmt::format("active MTU {} is none", address.active_mtu_bytes));
    address.max_read_atomic = static_cast<std::uint16_t>(get(in, read_atomic));
    address.gid_type = static_cast<std::uint8_t>(get_in(in, gid_type, 0, gid_types.size() - 1, "GID type"));
    address.gid_index = static_cast<std::uint16_t>(get(in, gid_index));
    std::copy_n(in.begin() + gid.offset, gid.size, address.gid.begin());
    address.device = get_text(in, device, "device name");
    address.netdev = get_text(in, netdev, "interface name");
    if (address.link_layer == LinkLayer::ethernet && address.gid == Gid{}) refuse("its GID is zero");
    return address;
}

std::uint8_t gid_type_code(std::string_view type) noexcept {
    const auto found = std::find(gid_types.begin(), gid_types.end(), type);
    return static_cast<std::uint8_t>(found == gid_types.end() ? 0 : found - gid_types.begin());
}

std::string describe_endpoint(const QueuePairAddress& address) {
    const GidInfo gid{address.gid_index, gid_text(address.gid), std::string(gid_types[address.gid_type]),
                      address.netdev, false};
    return fmt::format("{} port {} GID {} {}", address.device, address.port, address.gid_index, describe(gid));
}

std::string describe(const QueuePairAddress& address) {
    return fmt::format("{} qp {:#x}", describe_endpoint(address), address.number);
}

} // namespace verbena::verbs
