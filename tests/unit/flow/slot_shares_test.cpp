#include "catch.hpp"

#include <random>
#include <vector>

#include "flow/slot_shares.hpp"

using verbena::flow::SlotShares;

TEST_CASE("one peer alone may take every slot") {
    const std::uint32_t capacity = GENERATE(1u, 2u, 7u, 128u);
    SlotShares shares(capacity);
    shares.add_peer();
    for (std::uint32_t held = 0; held < capacity; ++held) {
        REQUIRE(shares.may_take(held));
        shares.take(held);
    }
    CHECK_FALSE(shares.may_take(capacity));
    CHECK(shares.available() == 0);
}

TEST_CASE("whatever the others hold for ever, a peer finds a slot, while peers are no more than half of the slots") {
    const std::uint32_t capacity = GENERATE(4u, 16u, 128u);
    const std::uint32_t peers = capacity / 2;
    SlotShares shares(capacity);
    for (std::uint32_t peer = 0; peer < peers; ++peer) shares.add_peer();
    for (std::uint32_t peer = 0; peer + 1 < peers; ++peer) { // each takes what it can get and dies
        std::uint32_t held = 0;
        while (shares.may_take(held)) shares.take(held++);
        CHECK(held >= 1);
        CHECK(held <= std::max(1u, capacity / 2));
    }
    CHECK(shares.may_take(0));
}

TEST_CASE("random takers and givers never pass the capacity, and always leave somebody able to go on") {
    const std::uint32_t capacity = GENERATE(1u, 2u, 5u, 32u);
    const std::uint32_t peers = GENERATE(1u, 2u, 3u, 40u);
    SlotShares shares(capacity);
    for (std::uint32_t peer = 0; peer < peers; ++peer) shares.add_peer();
    std::vector<std::uint32_t> held(peers);
    std::uint32_t taken = 0;
    std::mt19937 random(7);
    for (int step = 0; step < 20'000; ++step) {
        std::uint32_t& one = held[random() % peers];
        if (random() % 2 == 0 && shares.may_take(one)) {
            shares.take(one++);
            ++taken;
        } else if (one > 0) {
            shares.give(one--);
            --taken;
        }
        REQUIRE(taken <= capacity);
        REQUIRE(shares.available() == capacity - taken);
        if (taken == 0) REQUIRE(shares.may_take(0));
    }
}
