#include "catch.hpp"

#include <memory>

#include "ofi/ready_list.hpp"

using namespace verbena;

namespace {

/// Stands for a queue pair: the list only compares addresses.
ofi::QueuePair& owner(std::byte& place) { return reinterpret_cast<ofi::QueuePair&>(place); }

wire::Completion completion(std::uint64_t wr_id) {
    wire::Completion made;
    made.wr_id = wr_id;
    return made;
}

} // namespace

TEST_CASE("completions leave the ready list in order, around its end, up to every slot") {
    std::byte place{};
    ofi::SlotTable slots(owner(place), false, 3);
    ofi::ReadyList list;
    list.grow(3);
    std::uint64_t pushed = 0;
    std::uint64_t popped = 0;
    for (int round = 0; round < 5; ++round) {
        const std::size_t count = 1 + static_cast<std::size_t>(round) % 3;
        for (std::size_t i = 0; i < count; ++i) {
            ofi::Slot* slot = slots.take();
            REQUIRE(slot != nullptr);
            list.push(*slot, completion(pushed++));
            CHECK(slot->state == ofi::Slot::State::reported);
        }
        while (!list.empty()) {
            const auto entry = list.pop();
            CHECK(entry.completion.wr_id == popped++);
            slots.give_back(*entry.slot);
        }
    }
    CHECK(popped == pushed);
}

TEST_CASE("what a queue pair leaves behind goes with it, the rest stays in order") {
    std::byte places[2]{};
    ofi::SlotTable first(owner(places[0]), false, 2);
    ofi::SlotTable second(owner(places[1]), false, 2);
    ofi::ReadyList list;
    list.grow(2);
    list.grow(2);
    list.push(*first.take(), completion(1));
    list.push(*second.take(), completion(2));
    list.push(*first.take(), completion(3));
    list.push(*second.take(), completion(4));
    list.shrink(2, owner(places[0]));
    CHECK(list.pop().completion.wr_id == 2);
    CHECK(list.pop().completion.wr_id == 4);
    CHECK(list.empty());
}

TEST_CASE("a slot table gives each slot once and none beyond its depth") {
    const std::uint32_t depth = GENERATE(0u, 1u, 5u);
    std::byte place{};
    ofi::SlotTable slots(owner(place), true, depth);
    std::vector<ofi::Slot*> taken;
    while (ofi::Slot* slot = slots.take()) {
        CHECK(std::find(taken.begin(), taken.end(), slot) == taken.end());
        taken.push_back(slot);
    }
    CHECK(taken.size() == depth);
    for (ofi::Slot* slot : taken) slots.give_back(*slot);
    std::size_t again = 0;
    while (slots.take() != nullptr) ++again;
    CHECK(again == depth);
}
