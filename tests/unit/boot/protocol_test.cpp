#include "catch.hpp"

#include <iostream>
#include <random>

#include <verbena/error.hpp>

#include "boot/codec.hpp"
#include "boot/protocol.hpp"

using namespace verbena;
using namespace verbena::boot;

TEST_CASE("every message survives the wire") {
    const std::vector<Message> messages = {Join{3, 8, "gpu01"},
                                           Put{"k", std::string("\0v", 2)},
                                           Get{1ULL << 40, "k"},
                                           Contribute{"x", 7, ""},
                                           AskMissing{"x", 7},
                                           Leave{},
                                           Welcome{Admission::rank_taken, 8, 0u, "gpu01"},
                                           Welcome{Admission::admitted, 8, std::nullopt, ""},
                                           Value{5, "v"},
                                           Gathered{"x", 7, 2, {"a", "", "c"}},
                                           Missing{"x", 7, 2, {{1, "gpu01"}, {2, ""}}},
                                           Unfinishable{"x", 7, {1, "gpu01"}},
                                           RankLost{1, "gone"},
                                           Closing{}};
    for (const Message& message : messages) {
        const std::string bytes = encode(message);
        CHECK(encode(decode(bytes)) == bytes);
        CHECK(decode(bytes).index() == message.index());
        for (std::size_t length = 0; length < bytes.size(); ++length) {
            CHECK_THROWS_AS(decode(std::string_view(bytes).substr(0, length)), Error);
        }
        CHECK_THROWS_WITH(decode(bytes + "x"), VERBENA_CONTAINS("bytes after its end"));
    }
}

TEST_CASE("the layout of a message is little-endian and as written down") {
    CHECK(encode(Join{0x01020304, 8, "ab"}) == std::string("\0\4\3\2\1\10\0\0\0\2\0\0\0ab", 15));
    CHECK(encode(Gathered{"n", 1, 2, {"v"}}) ==
          std::string("\10\1\0\0\0n\1\0\0\0\0\0\0\0\2\0\0\0\1\0\0\0\1\0\0\0v", 27));
    HelloBytes expected{'V', 'R', 'B', 'N', 1, 0, 2, 0};
    CHECK(make_hello(Answer::wrong_secret, {}) == expected);
}

TEST_CASE("a length or a count that its message cannot hold allocates nothing") {
    std::string put = encode(Put{"k", "v"});
    store_little(reinterpret_cast<unsigned char*>(put.data()) + 1, 0xffffffffu);
    CHECK_THROWS_WITH(decode(put), VERBENA_CONTAINS("a string is too long"));
    std::string gathered = encode(Gathered{"", 0, 0, {}});
    store_little(reinterpret_cast<unsigned char*>(gathered.data()) + gathered.size() - 4, 0xffffffffu);
    CHECK_THROWS_WITH(decode(gathered), VERBENA_CONTAINS("a list is longer than its message"));
}

TEST_CASE("any bytes decode to a message or to an error") {
    const auto seed = GENERATE(0u, std::random_device{}());
    std::cout << "seed " << seed << "\n";
    CAPTURE(seed);
    std::mt19937 random(seed);
    std::size_t accepted = 0;
    for (int i = 0; i < 100'000; ++i) {
        std::string bytes(random() % 64, '\0');
        for (char& byte : bytes) byte = static_cast<char>(random() % 4 == 0 ? random() : random() % 3);
        if (!bytes.empty()) bytes[0] = static_cast<char>(random() % (std::variant_size_v<Message> + 1));
        try {
            const Message message = decode(bytes);
            ++accepted;
            REQUIRE(decode(encode(message)).index() == message.index());
        } catch (const Error& error) {
            REQUIRE(error.code() == ErrorCode::protocol_violation);
        }
    }
    CHECK(accepted > 0);
}
