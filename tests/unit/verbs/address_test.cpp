#include "catch.hpp"

#include <algorithm>
#include <random>

#include "verbs/address.hpp"

using namespace verbena;
using namespace verbena::verbs;

namespace {

QueuePairAddress example() {
    QueuePairAddress address;
    address.number = 0x11;
    address.psn = 0xabcdef;
    address.lid = 0x1d;
    address.port = 1;
    address.link_layer = LinkLayer::ethernet;
    address.active_mtu_bytes = 4096;
    address.max_read_atomic = 16;
    address.gid_type = gid_type_code("RoCE v2");
    address.gid_index = 1;
    address.gid = {};
    address.gid[10] = address.gid[11] = std::byte{0xff};
    address.gid[12] = std::byte{10};
    address.gid[13] = std::byte{9};
    address.gid[15] = std::byte{1};
    address.device = "rxe1";
    address.netdev = "a_1";
    return address;
}

} // namespace

TEST_CASE("an address survives encoding and names everything that is needed to find its end") {
    const QueuePairAddress address = example();
    CHECK(decode(encode(address)) == address);
    CHECK(describe(address) == "rxe1 port 1 GID 1 ::ffff:10.9.0.1 (RoCE v2, a_1) qp 0x11");
}

TEST_CASE("the layout is little-endian at fixed offsets") {
    const wire::Address bytes = encode(example());
    REQUIRE(bytes.size() == address_bytes);
    CHECK(bytes[0] == std::byte{'V'});
    CHECK(bytes[4] == std::byte{1});
    CHECK(bytes[6] == std::byte{96});
    CHECK(bytes[8] == std::byte{0x11});
    CHECK(bytes[12] == std::byte{0xef});
    CHECK(bytes[14] == std::byte{0xab});
    CHECK(bytes[21] == std::byte{0x10});
    CHECK(bytes[47] == std::byte{1});
    CHECK(bytes[48] == std::byte{'r'});
    CHECK(bytes[80] == std::byte{'a'});
}

TEST_CASE("a field out of range is refused as a violation of the protocol") {
    auto [what, offset, value] = GENERATE(table<const char*, std::size_t, unsigned>({
        {"magic", 0u, 'X'},
        {"version", 4u, 2u},
        {"size", 6u, 95u},
        {"queue pair number over 24 bit", 11u, 1u},
        {"PSN over 24 bit", 15u, 1u},
        {"port 0", 18u, 0u},
        {"link layer", 19u, 3u},
        {"MTU that is no power of two", 20u, 1u},
        {"GID type", 24u, 3u},
        {"reserved byte", 25u, 1u},
        {"control character in a name", 49u, 0x1bu},
        {"text after the end of a name", 60u, 'x'},
    }));
    CAPTURE(what);
    wire::Address bytes = encode(example());
    bytes[offset] = static_cast<std::byte>(value);
    try {
        (void)decode(bytes);
        FAIL("taken");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::protocol_violation);
        CHECK_FALSE(error.advice().empty());
    }
}

TEST_CASE("P16: a zero GID is refused on Ethernet and taken on InfiniBand") {
    QueuePairAddress address = example();
    address.gid = {};
    CHECK_THROWS_AS(decode(encode(address)), Error);
    address.link_layer = LinkLayer::infiniband;
    CHECK(decode(encode(address)).lid == 0x1d);
}

TEST_CASE("any bytes give an address or an Error, and what is taken encodes to the same bytes") {
    std::random_device source;
    const unsigned seed = source();
    CAPTURE(seed);
    std::mt19937 random(seed);
    const wire::Address good = encode(example());
    int taken = 0;
    for (int round = 0; round < 20000; ++round) {
        wire::Address bytes = good;
        if (random() % 8 == 0) bytes.resize(random() % (2 * address_bytes));
        for (unsigned changes = random() % 4; changes > 0 && !bytes.empty(); --changes) {
            bytes[random() % bytes.size()] = static_cast<std::byte>(random());
        }
        try {
            const QueuePairAddress address = decode(bytes);
            REQUIRE(encode(address) == bytes);
            ++taken;
        } catch (const Error& error) {
            REQUIRE(error.code() == ErrorCode::protocol_violation);
        }
    }
    CHECK(taken > 0);
    CHECK(taken < 20000);
}

TEST_CASE("a UD queue pair's address carries its Q_Key and is not taken for an RC one's") {
    QueuePairAddress address = example();
    address.qkey = 0x12345679;
    wire::Address bytes = encode(address);
    CHECK(bytes[2] == std::byte{'U'});
    CHECK(bytes[28] == std::byte{0x79});
    CHECK(decode(bytes) == address);
    std::fill_n(bytes.begin() + 28, 4, std::byte{0});
    CHECK_THROWS_AS(decode(bytes), Error);
}
