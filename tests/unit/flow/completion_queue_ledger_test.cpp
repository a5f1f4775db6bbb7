#include "catch.hpp"

#include "flow/completion_queue_ledger.hpp"

using verbena::flow::CompletionQueueLedger;

TEST_CASE("queues are refused before their work requests could overrun the completion queue") {
    CompletionQueueLedger ledger(64);
    CHECK(ledger.reserve(40));
    CHECK_FALSE(ledger.reserve(25));
    CHECK(ledger.reserved() == 40);
    CHECK(ledger.reserve(24));
    CHECK(ledger.available() == 0);
    CHECK(ledger.reserve(0));
}

TEST_CASE("a destroyed queue gives its entries back") {
    CompletionQueueLedger ledger(10);
    REQUIRE(ledger.reserve(10));
    ledger.release(4);
    CHECK(ledger.available() == 4);
    CHECK(ledger.reserve(4));
}

TEST_CASE("one entry more than there is room for is refused, however much is reserved already") {
    CompletionQueueLedger ledger(10);
    CHECK_FALSE(ledger.reserve(11));
    REQUIRE(ledger.reserve(7));
    CHECK_FALSE(ledger.reserve(4));
    CHECK(ledger.reserve(3));
    CHECK_FALSE(ledger.reserve(1));
}
