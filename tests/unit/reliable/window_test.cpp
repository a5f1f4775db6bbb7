/// The two windows against a network that does everything a network may do: pure values, no device, no clock.
#include "catch.hpp"

#include <map>
#include <random>
#include <vector>

#include "reliable/receive_window.hpp"
#include "reliable/send_window.hpp"

using namespace verbena::reliable;

namespace {

constexpr Time microsecond = 1000;

/// One direction of a channel: `count` packets go over a wire whose misdeeds `fate` decides, a call a datagram.
class Channel {
  public:
    struct Fate {
        bool lost = false;
        bool doubled = false;
        Time delay = 5 * microsecond;
    };

    Channel(Sequence first, std::uint32_t count) : sends_(first), receives_(first), released_(count), count_(count) {}

    /// False when it is not over after so many steps.
    template <class Decide>
    bool run(Decide&& fate, std::uint64_t most_steps = 200'000) {
        for (std::uint64_t step = 0; step < most_steps; ++step) {
            if (delivered_ == count_ && sends_.is_idle()) return true;
            send(fate);
            if (wire_.empty()) {
                REQUIRE_FALSE(sends_.is_idle()); // something must be under way, or a timer running
                now_ = std::max(now_, sends_.deadline());
            } else {
                const auto next = wire_.begin();
                now_ = std::max(now_, next->first);
                const Datagram datagram = next->second;
                wire_.erase(next);
                arrive(datagram, fate);
            }
            sends_.on_time(now_);
        }
        return false;
    }

    [[nodiscard]] const std::vector<std::uint32_t>& released() const { return released_; }
    [[nodiscard]] std::uint32_t transmissions() const { return transmissions_; }

  private:
    struct Datagram {
        bool is_acknowledgement = false;
        Sequence sequence = 0;
        std::uint32_t packet = 0;
        Sequence acknowledged = 0;
        std::uint64_t selective = 0;
    };

    template <class Decide>
    void put(const Datagram& datagram, Decide& fate) {
        ++transmissions_;
        const Fate what = fate();
        if (what.lost) return;
        wire_.emplace(now_ + what.delay, datagram);
        if (what.doubled) wire_.emplace(now_ + 3 * what.delay, datagram);
    }

    template <class Decide>
    void send(Decide& fate) {
        while (const auto lost = sends_.next_lost()) {
            sends_.resent(*lost, now_, true);
            put({false, *lost, sends_.packet(*lost), 0, 0}, fate);
        }
        while (sends_.has_room() && next_packet_ < count_) {
            const std::uint32_t packet = next_packet_++;
            const Sequence sequence = sends_.push(packet, now_, pool_);
            put({false, sequence, packet, 0, 0}, fate);
        }
    }

    template <class Decide>
    void arrive(const Datagram& datagram, Decide& fate) {
        if (datagram.is_acknowledgement) {
            sends_.acknowledge(datagram.acknowledged, datagram.selective, now_, pool_,
                               [&](std::uint32_t packet) { ++released_[packet]; });
            return;
        }
        const auto arrival = receives_.classify(datagram.sequence);
        REQUIRE(arrival != ReceiveWindow::Arrival::beyond);
        if (arrival != ReceiveWindow::Arrival::duplicate) {
            waiting_[datagram.sequence] = datagram.packet;
            receives_.keep(datagram.sequence);
        }
        while (receives_.next_waits()) {
            REQUIRE(waiting_.at(receives_.expected()) == delivered_); // once, and in order
            waiting_.erase(receives_.expected());
            receives_.advance();
            ++delivered_;
        }
        put({true, 0, 0, receives_.expected(), receives_.arrived()}, fate);
    }

    SendWindow sends_;
    ReceiveWindow receives_;
    SendWindow::Pool pool_;
    std::multimap<Time, Datagram> wire_;
    std::map<Sequence, std::uint32_t> waiting_;
    std::vector<std::uint32_t> released_;
    std::uint32_t count_;
    std::uint32_t next_packet_ = 0;
    std::uint32_t delivered_ = 0;
    std::uint32_t transmissions_ = 0;
    Time now_ = 0;
};

void check_released_once(const Channel& channel) {
    for (const std::uint32_t times : channel.released()) REQUIRE(times == 1);
}

} // namespace

TEST_CASE("every pattern of losses among the first 14 datagrams is repaired, in order and once") {
    constexpr std::uint32_t datagrams = 14;
    for (std::uint32_t pattern = 0; pattern < 1u << datagrams; ++pattern) {
        std::uint32_t sent = 0;
        Channel channel(0xfffffffe, 5); // its numbers wrap on the way
        const bool over = channel.run([&] {
            const bool lost = sent < datagrams && (pattern >> sent & 1) != 0;
            ++sent;
            return Channel::Fate{lost, false, 5 * microsecond};
        });
        if (!over) FAIL("stuck with losses " << pattern);
        check_released_once(channel);
    }
}

TEST_CASE("loss, duplicates and any order: thousands of packets arrive once and in order, over the wrap") {
    const std::uint64_t first = std::random_device{}();
    for (std::uint64_t seed = first; seed < first + 100; ++seed) {
        CAPTURE(seed);
        std::mt19937_64 random(seed);
        const double loss = static_cast<double>(random() % 30) / 100;
        const double doubled = static_cast<double>(random() % 10) / 100;
        const Time spread = (random() % 200 + 1) * microsecond;
        Channel channel(static_cast<Sequence>(-static_cast<std::int32_t>(random() % 1000)), 2000);
        const bool over = channel.run([&] {
            return Channel::Fate{std::bernoulli_distribution(loss)(random),
                                 std::bernoulli_distribution(doubled)(random), microsecond + random() % spread};
        });
        REQUIRE(over);
        check_released_once(channel);
    }
}

TEST_CASE("on a wire that does nothing wrong nothing is sent twice") {
    Channel channel(7, 5000);
    REQUIRE(channel.run([] { return Channel::Fate{}; }));
    CHECK(channel.transmissions() == 2 * 5000); // and an acknowledgement each
}

TEST_CASE("acknowledgements of what is not on its way change nothing") {
    SendWindow window(100);
    SendWindow::Pool pool;
    const auto never = [](std::uint32_t) { FAIL("released"); };
    CHECK_FALSE(window.acknowledge(101, 0, 1, pool, never)); // idle
    for (std::uint32_t packet = 0; packet < 4; ++packet) window.push(packet, 0, pool);
    CHECK_FALSE(window.acknowledge(99, 0, 1, pool, never));  // long ago
    CHECK_FALSE(window.acknowledge(105, 0, 1, pool, never)); // not yet sent
    CHECK_FALSE(window.acknowledge(100u + 0x80000000u, 0, 1, pool, never));
    CHECK(window.acknowledge(100, ~std::uint64_t{0} << 4, 1, pool, never)); // bits beyond what was sent
    CHECK(window.in_flight() == 4);
}

TEST_CASE("the timer doubles while nothing comes and starts afresh when something does") {
    SendWindow window(0);
    SendWindow::Pool pool;
    window.push(1, 0, pool);
    Time now = 0;
    Time last_wait = 0;
    for (int i = 0; i < 5; ++i) {
        const Time wait = window.deadline() - now;
        CHECK(wait >= 2 * last_wait);
        last_wait = wait;
        now = window.deadline();
        CHECK_FALSE(window.on_time(now - 1));
        CHECK(window.on_time(now));
        REQUIRE(window.next_lost() == Sequence{0});
        window.resent(0, now, true);
    }
    CHECK(window.unanswered() == 5);
    CHECK(window.heard_at() == 0);
    std::uint32_t released = 0;
    window.acknowledge(1, 0, now, pool, [&](std::uint32_t packet) { released += packet; });
    CHECK(released == 1);
    CHECK(window.is_idle());
    window.heard(now);
    CHECK(window.unanswered() == 0);
    window.push(2, now, pool);
    CHECK(window.deadline() == now + window.round_trip().timeout(0));
}

TEST_CASE("what has all arrived and waits for receives leaves nothing to send again, and the timer still runs") {
    SendWindow window(0);
    SendWindow::Pool pool;
    window.push(0, 0, pool);
    window.acknowledge(0, 1, 10, pool, [](std::uint32_t) {}); // bit 0: it is there, and waits
    CHECK_FALSE(window.is_idle());
    CHECK(window.on_time(window.deadline()));
    CHECK_FALSE(window.has_lost());
}
