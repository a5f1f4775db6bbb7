#include "catch.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <random>

#include "flow/credit_window.hpp"

using verbena::flow::CreditKind;
using verbena::flow::CreditStamp;
using verbena::flow::CreditWindow;

namespace {

struct Message {
    CreditStamp stamp;
    CreditKind kind = CreditKind::counted;
};

/// Two ends joined by two ordered links. `posted` counts the receive buffers an end really has: an arrival that finds
/// none is the RNR that must never happen.
struct Pair {
    struct End {
        CreditWindow credits;
        std::uint32_t posted;
        std::uint32_t held = 0; ///< counted messages received whose buffer is not posted again yet
        std::deque<Message> arriving{};
    };
    std::array<End, 2> ends;

    Pair(std::uint32_t a, std::uint32_t b)
        : ends{End{CreditWindow(a, b), a + CreditWindow::spare_buffers},
               End{CreditWindow(b, a), b + CreditWindow::spare_buffers}} {}

    bool send(int from) {
        if (ends[from].credits.available() == 0) return false;
        ends[1 - from].arriving.push_back({ends[from].credits.send_counted(), CreditKind::counted});
        return true;
    }
    bool grant(int from) {
        if (!ends[from].credits.wants_bare_grant()) return false;
        ends[1 - from].arriving.push_back({ends[from].credits.send_bare_grant(), CreditKind::bare_grant});
        return true;
    }
    bool reply(int from) {
        ends[1 - from].arriving.push_back({ends[from].credits.send_reply(), CreditKind::reply});
        return true;
    }
    bool receive(int at) {
        End& end = ends[at];
        if (end.arriving.empty()) return false;
        REQUIRE(end.posted > 0); // else receiver not ready
        const Message message = end.arriving.front();
        end.arriving.pop_front();
        if (message.kind == CreditKind::counted) {
            --end.posted;
            ++end.held;
        } // a bare grant's buffer, and a reply's, is posted again at once
        end.credits.receive(message.stamp, message.kind);
        return true;
    }
    bool repost(int at) {
        End& end = ends[at];
        if (end.held == 0) return false;
        --end.held;
        ++end.posted;
        end.credits.reposted();
        return true;
    }
    /// Everything but new messages, until nothing moves.
    void settle() {
        bool moved = true;
        while (moved) {
            moved = false;
            for (int end : {0, 1}) moved = receive(end) || repost(end) || grant(end) || moved;
        }
    }
};

/// Every sequence of `length` choices among the eight moves, by depth-first search over copies.
void explore(const Pair& pair, int length, std::uint64_t& states) {
    ++states;
    Pair settled = pair;
    settled.settle();
    for (int end : {0, 1}) REQUIRE(settled.ends[end].credits.available() > 0); // nobody starves
    if (length == 0) return;
    for (int move = 0; move < 10; ++move) {
        Pair next = pair;
        const int end = move & 1;
        const bool moved = move < 2   ? next.send(end)
                           : move < 4 ? next.receive(end)
                           : move < 6 ? next.repost(end)
                           : move < 8 ? next.grant(end)
                                      : next.reply(end);
        if (moved) explore(next, length - 1, states);
    }
}

} // namespace

TEST_CASE("no interleaving starves an end or finds it without a buffer") {
    std::uint64_t states = 0;
    for (std::uint32_t a = 1; a <= 3; ++a) {
        for (std::uint32_t b = 1; b <= 3; ++b) explore(Pair(a, b), 6, states);
    }
    CHECK(states > 50'000);
}

TEST_CASE("one-way traffic flows through any window, and counts wrap") {
    const std::uint32_t window = GENERATE(1u, 2u, 3u, 64u, 1000u, 16384u);
    Pair pair(window, window);
    std::uint64_t sent = 0;
    while (sent < 200'000) {
        while (pair.send(0)) ++sent;
        pair.settle();
    }
    CHECK(pair.ends[1].posted == window + CreditWindow::spare_buffers);
}

TEST_CASE("bare grants are few where traffic flows both ways") {
    Pair pair(64, 64);
    int grants = 0;
    for (int round = 0; round < 10'000; ++round) {
        for (int end : {0, 1}) {
            REQUIRE(pair.send(end));
            REQUIRE(pair.receive(1 - end));
            REQUIRE(pair.repost(1 - end));
            grants += pair.grant(1 - end);
        }
    }
    CHECK(grants == 0);
}

TEST_CASE("random walks at unequal windows never find an end without a buffer") {
    const auto seed = std::random_device{}();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    Pair pair(static_cast<std::uint32_t>(1 + random() % 100), static_cast<std::uint32_t>(1 + random() % 100));
    for (int step = 0; step < 300'000; ++step) {
        const int end = random() & 1;
        if (random() % 5 == 0) pair.reply(end);
        switch (random() % 4) {
        case 0:
            pair.send(end);
            break;
        case 1:
            pair.receive(end);
            break;
        case 2:
            pair.repost(end);
            break;
        default:
            pair.grant(end);
        }
    }
    pair.settle();
    for (int end : {0, 1}) CHECK(pair.ends[end].credits.available() > 0);
}

TEST_CASE("an older stamp takes nothing back") {
    CreditWindow credits(4, 4);
    credits.receive({6, 0}, CreditKind::counted);
    CHECK(credits.available() == 6);
    credits.receive({5, 0}, CreditKind::counted);
    CHECK(credits.available() == 6);
}

TEST_CASE("while a bare grant has not been seen there is no second one, for one spare buffer takes it") {
    CreditWindow ours(4, 4);
    CreditWindow theirs(4, 4);
    for (int i = 0; i < 4; ++i) ours.receive(theirs.send_counted(), CreditKind::counted);
    ours.reposted();
    REQUIRE(ours.wants_bare_grant());
    const CreditStamp grant = ours.send_bare_grant();
    ours.reposted();
    CHECK_FALSE(ours.wants_bare_grant()); // though there is a credit to tell and the peer is almost dry
    theirs.receive(grant, CreditKind::bare_grant);
    CHECK(theirs.available() == 1);
    ours.receive(theirs.send_counted(), CreditKind::counted); // says that it was seen
    CHECK(ours.wants_bare_grant());
}
