#include "catch.hpp"

#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include "flow/send_queue_ledger.hpp"

using namespace verbena;
using flow::SendQueueLedger;
using flow::Sequence;
using wire::Retirement;

namespace {

/// What hardware does: a slot is freed only by a polled completion, and only signaled requests give one.
class StrictQueue {
  public:
    explicit StrictQueue(std::uint32_t capacity) : capacity_(capacity) {}
    /// False is the ENOMEM that must never happen.
    bool post(Sequence sequence, bool signaled) {
        if (held_ == capacity_) return false;
        ++held_;
        requests_.push_back({sequence, signaled});
        return true;
    }
    /// Executes everything; returns the completions there are to poll.
    std::vector<Sequence> completions() const {
        std::vector<Sequence> result;
        for (const auto& request : requests_) {
            if (request.signaled) result.push_back(request.sequence);
        }
        return result;
    }
    void poll(Sequence sequence) {
        while (!requests_.empty() && requests_.front().sequence <= sequence) {
            requests_.pop_front();
            --held_;
        }
    }
    std::uint32_t held() const { return held_; }

  private:
    struct Request {
        Sequence sequence;
        bool signaled;
    };
    std::uint32_t capacity_;
    std::uint32_t held_ = 0;
    std::deque<Request> requests_;
};

/// One run: every bit of `choices` either posts (0) or polls one completion (1). True if the queue never refused and
/// could always be drained far enough to post again.
void drive(std::uint32_t capacity, std::uint64_t choices, int length) {
    SendQueueLedger ledger(capacity, Retirement::through_completion);
    StrictQueue queue(capacity);
    for (int step = 0; step < length; ++step) {
        const bool wants_poll = (choices >> step) & 1;
        if (!wants_poll && ledger.available() > 0) {
            const bool signaled = ledger.must_signal_next();
            REQUIRE(queue.post(ledger.next(), signaled));
            ledger.post(signaled);
        } else if (const auto ready = queue.completions(); !ready.empty()) {
            queue.poll(ready.front());
            ledger.retire_through(ready.front());
        }
        REQUIRE(ledger.in_flight() == queue.held());
        if (ledger.available() == 0) REQUIRE_FALSE(queue.completions().empty());
    }
}

} // namespace

TEST_CASE("no interleaving of posts and polls fills a small send queue with unsignaled work") {
    for (std::uint32_t capacity = 1; capacity <= 6; ++capacity) {
        for (std::uint64_t choices = 0; choices < (1u << 14); ++choices) drive(capacity, choices, 14);
    }
}

TEST_CASE("a 33rd unsignaled post to a 32-deep queue finds room once a completion was polled") {
    SendQueueLedger ledger(32, Retirement::through_completion);
    StrictQueue queue(32);
    for (int post = 0; post < 1000; ++post) {
        if (ledger.available() == 0) {
            const Sequence newest = queue.completions().back();
            queue.poll(newest);
            REQUIRE(ledger.retire_through(newest) > 0);
        }
        const bool signaled = ledger.must_signal_next();
        REQUIRE(queue.post(ledger.next(), signaled));
        ledger.post(signaled);
    }
}

TEST_CASE("random walks at large depths agree with the strict queue") {
    const auto seed = std::random_device{}();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    for (std::uint32_t capacity : {7u, 64u, 127u, 128u, 1000u, 4096u}) {
        SendQueueLedger ledger(capacity, Retirement::through_completion);
        StrictQueue queue(capacity);
        for (int step = 0; step < 20000; ++step) {
            if (random() % 3 != 0 && ledger.available() > 0) {
                const bool signaled = ledger.must_signal_next() || random() % 50 == 0;
                REQUIRE(queue.post(ledger.next(), signaled));
                ledger.post(signaled);
            } else if (random() % 8 == 0 || ledger.available() == 0) {
                const auto ready = queue.completions();
                if (ready.empty()) continue;
                const Sequence polled = ready[random() % ready.size()];
                queue.poll(polled);
                ledger.retire_through(polled);
            }
            REQUIRE(ledger.in_flight() == queue.held());
        }
    }
}

TEST_CASE("a completion of a request that is already retired frees nothing") {
    SendQueueLedger ledger(8, Retirement::through_completion);
    for (int post = 0; post < 6; ++post) ledger.post(ledger.must_signal_next());
    CHECK(ledger.retire_through(3) == 4);
    CHECK(ledger.retire_through(1) == 0);
    CHECK(ledger.in_flight() == 2);
    CHECK(ledger.unsignaled_tail() == 2);
}

TEST_CASE("where each completion frees only itself, every request is signaled") {
    SendQueueLedger ledger(8, Retirement::each_completion);
    for (int post = 0; post < 8; ++post) {
        CHECK(ledger.must_signal_next());
        ledger.post(true);
    }
    CHECK(ledger.available() == 0);
    ledger.retire_one();
    CHECK(ledger.available() == 1);
}

TEST_CASE("the unsignaled tail is what no completion will report") {
    SendQueueLedger ledger(128, Retirement::through_completion);
    CHECK(ledger.unsignaled_tail() == 0);
    ledger.post(false);
    ledger.post(false);
    CHECK(ledger.unsignaled_tail() == 2);
    const Sequence signaled = ledger.post(true);
    CHECK(ledger.unsignaled_tail() == 0);
    ledger.post(false);
    ledger.retire_through(signaled);
    CHECK(ledger.unsignaled_tail() == 1);
}

TEST_CASE("an unsignaled request that an error completes is no tail any more") {
    SendQueueLedger ledger(8, wire::Retirement::through_completion);
    const Sequence only = ledger.post(false);
    CHECK(ledger.unsignaled_tail() == 1);
    CHECK(ledger.retire_through(only) == 1);
    CHECK(ledger.unsignaled_tail() == 0);
}
