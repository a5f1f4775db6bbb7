#include "catch.hpp"

#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "msg/header.hpp"

using namespace verbena::msg;

namespace {

std::vector<std::byte> bytes_of(const Header& header, std::size_t payload) {
    std::vector<std::byte> message(header_bytes + payload);
    std::memcpy(message.data(), &header, header_bytes);
    return message;
}

} // namespace

TEST_CASE("the header's layout is that of docs/wire-format.md") {
    Header header;
    header.kind = MessageKind::rendezvous;
    header.context = 0x0102;
    header.source = 0x03040506;
    header.tag = 0x0708090a0b0c0d0e;
    header.length = 0x1112131415161718;
    header.operation = 0x191a1b1c;
    header.granted = 0x1d1e;
    header.bare_grants_seen = 0x1f;
    header.status = 0x20;
    constexpr std::array<unsigned, 32> expected = {1,    2,    0x02, 0x01, 0x06, 0x05, 0x04, 0x03, 0x0e, 0x0d, 0x0c,
                                                   0x0b, 0x0a, 0x09, 0x08, 0x07, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13,
                                                   0x12, 0x11, 0x1c, 0x1b, 0x1a, 0x19, 0x1e, 0x1d, 0x1f, 0x20};
    const auto message = bytes_of(header, 0);
    for (std::size_t i = 0; i < expected.size(); ++i) CHECK(std::to_integer<unsigned>(message[i]) == expected[i]);
}

TEST_CASE("a message is refused when it is short, foreign, unknown or of another length") {
    Header header;
    header.kind = MessageKind::eager;
    header.length = 5;
    CHECK(parse_header(bytes_of(header, 5)).has_value());
    CHECK_FALSE(parse_header(bytes_of(header, 4)).has_value());
    CHECK_FALSE(parse_header(bytes_of(header, 6)).has_value());
    CHECK_FALSE(parse_header(std::vector<std::byte>(header_bytes - 1)).has_value());
    CHECK_FALSE(parse_header({}).has_value());
    auto foreign = header;
    foreign.version = 2;
    CHECK_FALSE(parse_header(bytes_of(foreign, 5)).has_value());
    auto unknown = header;
    unknown.kind = static_cast<MessageKind>(0);
    CHECK_FALSE(parse_header(bytes_of(unknown, 5)).has_value());
    auto status = header;
    status.status = 200;
    CHECK_FALSE(parse_header(bytes_of(status, 5)).has_value());
    auto rendezvous = header;
    rendezvous.kind = MessageKind::rendezvous;
    CHECK_FALSE(parse_header(bytes_of(rendezvous, 5)).has_value());
    CHECK(parse_header(bytes_of(rendezvous, sizeof(RendezvousBody))).has_value());
    CHECK_FALSE(rendezvous_offer(bytes_of(rendezvous, sizeof(RendezvousBody))).shared.has_value());
    CHECK(parse_header(bytes_of(rendezvous, longest_offer)).has_value());
    CHECK(rendezvous_offer(bytes_of(rendezvous, longest_offer)).shared.has_value());
    CHECK_FALSE(parse_header(bytes_of(rendezvous, longest_offer - 1)).has_value());
    Header request;
    request.kind = MessageKind::request;
    auto message = bytes_of(request, sizeof(RequestBody));
    CHECK_FALSE(parse_header(message).has_value()); // of no kind
    message[header_bytes] = static_cast<std::byte>(RequestKind::sync);
    CHECK(parse_header(message).has_value());
    message[header_bytes] = std::byte{8};
    CHECK_FALSE(parse_header(message).has_value());
    request.length = 5;
    message = bytes_of(request, sizeof(RequestBody) + 5);
    message[header_bytes] = static_cast<std::byte>(RequestKind::put);
    CHECK(parse_header(message).has_value());
    message[header_bytes] = static_cast<std::byte>(RequestKind::get);
    CHECK_FALSE(parse_header(message).has_value()); // only a put brings bytes
    CHECK_FALSE(parse_header(std::span(message).first(header_bytes + 39)).has_value());
    Header answer;
    answer.kind = MessageKind::answer;
    answer.length = 8;
    CHECK(parse_header(bytes_of(answer, 8)).has_value());
    CHECK_FALSE(parse_header(bytes_of(answer, 9)).has_value());
}

TEST_CASE("any bytes through the parser give a header that agrees with them, or nothing") {
    const auto seed = std::random_device{}();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    int accepted = 0;
    for (int round = 0; round < 200'000; ++round) {
        std::vector<std::byte> message(random() % 96);
        for (auto& byte : message) byte = static_cast<std::byte>(random());
        if (message.size() >= 2 && random() % 2 == 0) {
            message[0] = std::byte{1};
            message[1] = static_cast<std::byte>(random() % 19);
        }
        const auto header = parse_header(message);
        if (!header) continue;
        ++accepted;
        REQUIRE(message.size() >= header_bytes);
        if (header->kind == MessageKind::eager || header->kind == MessageKind::answer)
            REQUIRE(header->length + header_bytes == message.size());
    }
    CHECK(accepted > 0);
}
