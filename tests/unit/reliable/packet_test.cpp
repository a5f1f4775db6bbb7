#include "catch.hpp"

#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "reliable/address.hpp"
#include "reliable/packet.hpp"
#include "reliable/region_table.hpp"

using namespace verbena;
using namespace verbena::reliable;

namespace {

std::vector<std::byte> packet(const PacketHeader& header, std::size_t payload) {
    std::vector<std::byte> bytes(header_bytes + payload);
    std::memcpy(bytes.data(), &header, header_bytes);
    return bytes;
}

} // namespace

TEST_CASE("a packet's header lies as docs/wire-format.md says") {
    PacketHeader header;
    header.kind = PacketKind::message;
    header.flags = last_piece | has_immediate;
    header.source = 0x01020304;
    header.session = 0x1112131415161718;
    header.sequence = 0x21222324;
    header.acknowledged = 0x31323334;
    header.selective = 0x4142434445464748;
    header.operation = 0x51525354;
    header.length = 3;
    header.immediate = 0x61626364;
    const std::vector<std::byte> bytes = packet(header, 3);
    const auto at = [&](std::size_t offset) { return std::to_integer<int>(bytes[offset]); };
    CHECK(at(0) == 1);
    CHECK(at(1) == 2);
    CHECK(at(2) == 3);
    CHECK(at(4) == 0x04);
    CHECK(at(8) == 0x18);
    CHECK(at(16) == 0x24);
    CHECK(at(20) == 0x34);
    CHECK(at(24) == 0x48);
    CHECK(at(32) == 0x54);
    CHECK(at(36) == 3);
    CHECK(at(44) == 0x64);
    CHECK(parse_packet(bytes).has_value());
}

TEST_CASE("a packet that no verbena sends is refused") {
    PacketHeader header;
    header.kind = PacketKind::message;
    header.length = 100;
    SECTION("another version") { header.version = 2; }
    SECTION("an unknown kind") { header.kind = PacketKind{9}; }
    SECTION("no kind") { header.kind = PacketKind{0}; }
    SECTION("an unknown flag") { header.flags = 8; }
    SECTION("a piece beyond its message's end") { header.offset = 95; }
    SECTION("an end that is not one") { header.flags = last_piece; }
    SECTION("an offset that wraps") { header.offset = 0xfffffffe; }
    SECTION("a status where there is none") { header.status = 1; }
    SECTION("a READ with a payload") { header.kind = PacketKind::read; }
    SECTION("an acknowledgement with a payload") { header.kind = PacketKind::acknowledgement; }
    CHECK_FALSE(parse_packet(packet(header, 10)).has_value());
}

TEST_CASE("any bytes give a header or nothing, and a piece within its whole") {
    std::mt19937_64 random(std::random_device{}());
    for (int i = 0; i < 200'000; ++i) {
        std::array<std::byte, 200> bytes;
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % (i % 2 == 0 ? 256 : 6));
        bytes[0] = std::byte{1};
        const std::size_t size = random() % bytes.size();
        const auto header = parse_packet(std::span(bytes).first(size));
        if (!header || header->kind == PacketKind::acknowledgement || header->kind == PacketKind::read) continue;
        REQUIRE(header->offset + (size - header_bytes) <= header->length);
    }
}

TEST_CASE("an address is read as it was written, and nothing else is") {
    const std::array native{std::byte{1}, std::byte{2}, std::byte{3}};
    const wire::Address good = encode({5, 77, 0xfffffff0, 4096, 0x11, native});
    const auto read = decode(good);
    REQUIRE(read);
    CHECK(read->rank == 5);
    CHECK(read->session == 77);
    CHECK(read->first_sequence == 0xfffffff0);
    CHECK(read->packet_bytes == 4096);
    CHECK(read->queue_pair == 0x11);
    CHECK(std::equal(native.begin(), native.end(), read->native.begin(), read->native.end()));
    CHECK_FALSE(decode(std::span(good).first(good.size() - 1)));
    CHECK_FALSE(decode({}));
    wire::Address other = good;
    other[0] ^= std::byte{1};
    CHECK_FALSE(decode(other));
}

TEST_CASE("a remote key opens its own region, within its bounds and rights, while it lives") {
    RegionTable table;
    std::array<std::byte, 64> memory{};
    auto region = table.add(memory, Access::remote_read, 0x1234);
    const std::uint64_t key = region->rkey().value;
    const std::uint64_t start = region->remote_address(memory.data());
    CHECK(table.translate(key, start, 64, Access::remote_read) == memory.data());
    CHECK(table.translate(key, start + 60, 4, Access::remote_read) == memory.data() + 60);
    CHECK(table.translate(key, start + 61, 4, Access::remote_read) == nullptr);
    CHECK(table.translate(key, start - 1, 4, Access::remote_read) == nullptr);
    CHECK(table.translate(key, start + 8, ~std::uint64_t{0}, Access::remote_read) == nullptr);
    CHECK(table.translate(key, start, 4, Access::remote_write) == nullptr);
    CHECK(table.translate(key ^ 1, start, 4, Access::remote_read) == nullptr);
    CHECK(table.translate(key ^ std::uint64_t{1} << 40, start, 4, Access::remote_read) == nullptr);
    region.reset();
    CHECK(table.translate(key, start, 4, Access::remote_read) == nullptr);
    const auto next = table.add(memory, Access::remote_read, 0x5678); // in the same place
    CHECK(table.translate(key, start, 4, Access::remote_read) == nullptr);
}
