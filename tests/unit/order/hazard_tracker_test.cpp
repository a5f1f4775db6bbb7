#include "catch.hpp"

#include <random>
#include <vector>

#include "order/hazard_tracker.hpp"

using namespace verbena::order;

namespace {

Touch touch(Kind kind, Range remote, Range local, std::uint32_t peer = 1) {
    Touch made;
    made.kind = kind;
    made.remote = remote;
    made.local = local;
    made.peer = peer;
    return made;
}

Relation after(const Touch& earlier, const Touch& later, const Rules& rules = reliable_connection,
               bool everything = false) {
    HazardTracker tracker(rules, 4);
    CHECK(tracker.check(later, everything) == Relation::ordered);
    tracker.add(earlier);
    return tracker.check(later, everything);
}

constexpr Range here{1000, 100};
constexpr Range there{5000, 100};
constexpr Range elsewhere{9000, 100};
constexpr Range nowhere{};

} // namespace

TEST_CASE("the table is the one of a reliable connection, and follows what a device says of itself") {
    CHECK(relation(reliable_connection, Kind::read, Kind::write) == Relation::fence);
    CHECK(relation(reliable_connection, Kind::read, Kind::read) == Relation::ordered);
    CHECK(relation(reliable_connection, Kind::write, Kind::read) == Relation::ordered);
    CHECK(relation(reliable_connection, Kind::atomic, Kind::read) == Relation::fence);
    verbena::wire::Capabilities can;
    CHECK(rules_of(can) == reliable_connection);
    can.native_fence = false;
    CHECK(relation(rules_of(can), Kind::read, Kind::write) == Relation::wait);
    CHECK(relation(rules_of(can), Kind::write, Kind::write) == Relation::ordered);
    can.native_fence = true;
    can.ordered_writes = false;
    CHECK(relation(rules_of(can), Kind::write, Kind::read) == Relation::wait);
    CHECK(relation(rules_of(can), Kind::read, Kind::write) == Relation::fence);
}

TEST_CASE("a fence is asked for exactly where memory meets") {
    const Touch read = touch(Kind::read, there, here);
    CHECK(after(read, touch(Kind::write, there, elsewhere)) == Relation::fence); // over there
    CHECK(after(read, touch(Kind::write, elsewhere, here)) == Relation::fence);  // here: what comes back is sent on
    CHECK(after(read, touch(Kind::write, elsewhere, elsewhere)) == Relation::ordered);
    CHECK(after(read, touch(Kind::read, there, elsewhere)) == Relation::ordered); // nobody changes anything
    CHECK(after(read, touch(Kind::atomic, {5096, 8}, nowhere)) == Relation::fence);
    CHECK(after(read, touch(Kind::atomic, {5100, 8}, nowhere)) == Relation::ordered);  // the byte behind the end
    CHECK(after(read, touch(Kind::write, {4999, 1}, elsewhere)) == Relation::ordered); // and the one ahead
    CHECK(after(read, touch(Kind::write, {5050, 0}, {1050, 0})) == Relation::ordered); // no bytes
    CHECK(after(touch(Kind::write, there, elsewhere), read) == Relation::ordered);
    CHECK(after(touch(Kind::atomic, {5000, 8}, nowhere), read) == Relation::fence);
}

TEST_CASE("a fence does not help across peers, copies and engines: there one waits") {
    const Touch read = touch(Kind::read, there, here);
    CHECK(after(read, touch(Kind::write, there, elsewhere, 2)) == Relation::ordered); // another peer's memory
    CHECK(after(read, touch(Kind::write, there, here, 2)) == Relation::wait);
    Touch copied = touch(Kind::write, elsewhere, here);
    copied.by = By::copied;
    CHECK(after(read, copied) == Relation::wait);
    CHECK(after(read, touch(Kind::send, nowhere, here)) == Relation::wait);
    CHECK(after(read, touch(Kind::send, nowhere, elsewhere)) == Relation::ordered);
    Touch by_engine = touch(Kind::atomic, {5000, 8}, nowhere);
    by_engine.by = By::engine;
    CHECK(after(by_engine, by_engine) == Relation::ordered);
    CHECK(after(by_engine, touch(Kind::write, there, elsewhere)) == Relation::wait);
    CHECK(after(read, by_engine) == Relation::wait);
    CHECK(after(touch(Kind::write, there, elsewhere), by_engine) == Relation::ordered);
    Touch swap = touch(Kind::atomic, {5000, 8}, nowhere);
    swap.loops = true;
    CHECK(after(swap, touch(Kind::write, there, elsewhere)) == Relation::wait);
    Touch signals = touch(Kind::write, elsewhere, nowhere);
    signals.signal = {5000, 8};
    verbena::wire::Capabilities reordering;
    reordering.ordered_writes = false;
    CHECK(after(signals, touch(Kind::write, there, nowhere), rules_of(reordering)) == Relation::wait);
}

TEST_CASE("strict is as if all memory of a peer were one place") {
    const Touch read = touch(Kind::read, there, here);
    const Touch write = touch(Kind::write, elsewhere, elsewhere);
    CHECK(after(read, write, reliable_connection, true) == Relation::fence);
    CHECK(after(write, write, reliable_connection, true) == Relation::ordered);
    CHECK(after(read, touch(Kind::write, elsewhere, elsewhere, 2), reliable_connection, true) == Relation::ordered);
}

TEST_CASE("the tracker agrees with a plain list, whatever comes and goes") {
    const auto seed = std::random_device{}();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const auto pick = [&](std::uint64_t below) { return static_cast<std::uint32_t>(random() % below); };
    constexpr std::uint32_t capacity = 16;
    HazardTracker tracker(reliable_connection, capacity);
    std::vector<std::pair<HazardTracker::Token, Touch>> model;
    for (int step = 0; step < 50'000; ++step) {
        const Touch next = touch(static_cast<Kind>(1 + pick(3)), {pick(50), pick(10)}, {pick(50), pick(10)}, pick(2));
        Relation expected = Relation::ordered;
        for (const auto& [token, earlier] : model) expected = std::max(expected, after(earlier, next));
        REQUIRE(tracker.check(next, false) == expected);
        REQUIRE(tracker.outstanding() == model.size());
        REQUIRE(tracker.has_room() == (model.size() < capacity));
        if (tracker.has_room() && pick(2) == 0) model.emplace_back(tracker.add(next), next);
        if (!model.empty() && pick(3) == 0) {
            const auto at = model.begin() + pick(model.size());
            tracker.remove(at->first);
            model.erase(at);
        }
    }
}
