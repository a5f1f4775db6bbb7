#include "catch.hpp"

#include <random>

#include <verbena/error.hpp>
#include <verbena/remote_region.hpp>

using namespace verbena;

TEST_CASE("a remote region survives its encoding") {
    RemoteRegion::Fields fields;
    fields.job = 0x0102030405060708u;
    fields.owner = 0x11121314;
    fields.rights = Access::remote_read | Access::remote_atomic;
    fields.native_atomics = true;
    fields.memory = 0x2122232425262728u;
    fields.length = 0x3132333435363738u;
    fields.address = 0x4142434445464748u;
    fields.rkey = 0x5152535455565758u;
    fields.handle = 0x6162636465666768u;
    const RemoteRegion region(fields);
    const RemoteRegion::Encoded bytes = region.encode();
    CHECK(RemoteRegion::decode(bytes) == region);
    CHECK(bytes[0] == std::byte{1});  // version
    CHECK(bytes[2] == std::byte{2});  // flags
    CHECK(bytes[3] == std::byte{10}); // rights
    CHECK(bytes[4] == std::byte{0x14});
    CHECK(bytes[8] == std::byte{8});
    CHECK(bytes[55] == std::byte{0x61});
}

TEST_CASE("bytes that are no remote region are refused or give one that encodes to them") {
    const auto seed = std::random_device{}();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    RemoteRegion::Encoded bytes{};
    CHECK_THROWS_AS(RemoteRegion::decode(std::span(bytes).first(55)), Error);
    CHECK_THROWS_AS(RemoteRegion::decode({}), Error);
    CHECK_THROWS_AS(RemoteRegion::decode(bytes), Error); // version 0
    int accepted = 0;
    for (int round = 0; round < 20'000; ++round) {
        for (auto& byte : bytes) byte = static_cast<std::byte>(random());
        if (random() % 2 == 0) {
            bytes[0] = std::byte{1};
            bytes[1] = std::byte{0};
            bytes[2] = static_cast<std::byte>(random() % 4);
            bytes[3] = static_cast<std::byte>(random() % 16);
        }
        try {
            const RemoteRegion region = RemoteRegion::decode(bytes);
            ++accepted;
            REQUIRE(region.encode() == bytes);
        } catch (const Error& error) {
            REQUIRE(error.code() == ErrorCode::protocol_violation);
        }
    }
    CHECK(accepted > 0);
}
