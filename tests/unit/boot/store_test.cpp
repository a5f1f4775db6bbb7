#include "catch.hpp"

#include <csignal>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "boot/socket.hpp"
#include "boot/store_connect.hpp"
#include "store_fixture.hpp"

using namespace verbena;
using namespace verbena::boot;
using namespace verbena::boot::test;

TEST_CASE("a client that waits calls the step it was given, and stops when told") {
    const boot::StoreServer server({.secret = "s", .size = 2});
    boot::StoreClient client({.host = "127.0.0.1", .port = server.port(), .secret = "s", .rank = 0, .size = 2});
    int steps = 0;
    client.call_while_waiting([&] { ++steps; });
    CHECK_THROWS_AS(client.barrier("b", std::chrono::steady_clock::now() + std::chrono::milliseconds(50)), Error);
    CHECK(steps > 1);
    const int before = steps;
    client.call_while_waiting({});
    CHECK_THROWS_AS(client.barrier("b", std::chrono::steady_clock::now() + std::chrono::milliseconds(5)), Error);
    CHECK(steps == before);
}

TEST_CASE("every rank of an exchange gets every rank's value by rank") {
    const Store store(GENERATE(1u, 2u, 7u));
    const auto results = run_ranks(store, [](StoreClient& client, std::uint32_t rank) {
        std::string text;
        for (int round = 0; round < 3; ++round) {
            const std::string value = std::to_string(rank) + "." + std::to_string(round);
            for (const auto& each : client.exchange("addresses", value, in(60s))) text += each + " ";
            client.barrier("met", in(60s));
        }
        return text;
    });
    std::string expected;
    for (int round = 0; round < 3; ++round) {
        for (std::uint32_t rank = 0; rank < store.size; ++rank)
            expected += std::to_string(rank) + "." + std::to_string(round) + " ";
    }
    for (const auto& result : results) CHECK(result == expected);
}

TEST_CASE("an exchange carries empty values, largest values and bytes of every kind") {
    const Store store(3);
    const std::string largest(1 << 20, '\xff');
    const std::string zeros("\0\n\0", 3);
    const auto results = run_ranks(store, [&](StoreClient& client, std::uint32_t rank) -> std::string {
        const auto values = client.exchange("x", rank == 0 ? "" : rank == 1 ? largest : zeros, in(60s));
        return values == std::vector<std::string>{"", largest, zeros} ? "same" : "different";
    });
    CHECK(results == std::vector<std::string>(3, "same"));
}

TEST_CASE("a value or a name over its limit is refused before it is sent") {
    const Store store(1);
    StoreClient client(store.options(0));
    CHECK_THROWS_WITH(client.put("k", std::string((1 << 20) + 1, 'x')),
                      VERBENA_CONTAINS("has 1048577 bytes, the limit is 1048576"));
    CHECK_THROWS_WITH(client.put(std::string(1025, 'k'), "v"), VERBENA_CONTAINS("has 1025 bytes, the limit is 1024"));
    client.put("k", "v");
    CHECK(client.get("k", in(60s)) == "v");
}

TEST_CASE("get waits for the key, and names it when the deadline passes") {
    const Store store(2);
    StoreClient reader(store.options(0));
    StoreClient writer(store.options(1));
    const Error error = error_of([&] { (void)reader.get("colour", in(10ms)); });
    CHECK(error.code() == ErrorCode::timed_out);
    CHECK_THAT(error.what(), VERBENA_CONTAINS("\"colour\"") && VERBENA_CONTAINS("no rank has put it within"));

    auto value = std::async(std::launch::async, [&] { return reader.get("colour", in(60s)); });
    writer.put("colour", "green");
    CHECK(value.get() == "green");
    writer.put("colour", "blue");
    CHECK(writer.get("colour", in(60s)) == "blue");
}

TEST_CASE("a time-out names the ranks that are missing and where they are") {
    const Store store(4);
    StoreClient zero(store.options(0));
    StoreClient two(store.options(2));
    const Error error = error_of([&] { zero.barrier("start", in(10ms)); });
    CHECK(error.code() == ErrorCode::timed_out);
    CHECK_THAT(error.what(), VERBENA_CONTAINS("exchange \"start\": ranks 1 (never joined), 2 (on ") &&
                                 VERBENA_CONTAINS("), 3 (never joined) of 4 did not come within 0.01 s"));
    CHECK_THAT(error.advice(), VERBENA_CONTAINS("--connect-timeout"));
}

TEST_CASE("an exchange that timed out can be repeated, also when it ended meanwhile") {
    const Store store(2);
    StoreClient zero(store.options(0));
    CHECK_THROWS_AS(zero.exchange("x", "a", in(1ms)), Error);
    StoreClient one(store.options(1));
    CHECK(one.exchange("x", "b", in(60s)) == std::vector<std::string>{"a", "b"});
    const bool late = GENERATE(false, true);
    if (late) CHECK(zero.poll_lost().empty()); // takes in what has arrived
    CHECK(zero.exchange("x", "c", in(60s)) == std::vector<std::string>{"a", "b"});
    auto next = std::async(std::launch::async, [&] { return one.exchange("x", "d", in(60s)); });
    CHECK(zero.exchange("x", "e", in(60s)) == std::vector<std::string>{"e", "d"});
    CHECK(next.get() == std::vector<std::string>{"e", "d"});
}

TEST_CASE("a rank whose connection ends without a goodbye is told to all, and ends what they wait for at once") {
    const Store store(3);
    StoreClient zero(store.options(0));
    StoreClient one(store.options(1));
    auto two = std::make_optional(connect_to_store(store.options(2)));
    auto exchange = std::async(std::launch::async, [&] { return error_of([&] { zero.barrier("x", in(600s)); }); });
    auto get = std::async(std::launch::async, [&] { return error_of([&] { (void)one.get("x", in(600s)); }); });
    two.reset();
    for (const Error& error : {exchange.get(), get.get()}) {
        CHECK(error.code() == ErrorCode::peer_lost);
        CHECK_THAT(error.what(),
                   VERBENA_CONTAINS("rank 2 is lost: its process ended without leaving the job (it ran on "));
    }
    for (StoreClient* client : {&zero, &one}) {
        const auto lost = client->poll_lost();
        REQUIRE(lost.size() == 1);
        CHECK(lost[0].rank == 2u);
        CHECK(client->poll_lost().empty());
    }
}

TEST_CASE("a rank that joins after another was lost learns it") {
    const Store store(3);
    StoreClient zero(store.options(0));
    { const auto gone = connect_to_store(store.options(1)); }
    std::vector<Lost> lost;
    REQUIRE(hears_of_loss(zero, lost));
    StoreClient two(store.options(2));
    lost.clear();
    REQUIRE(hears_of_loss(two, lost));
    CHECK(lost[0].rank == 1u);
}

TEST_CASE("a killed process is a lost rank") {
    const Store store(2);
    int ready[2];
    REQUIRE(pipe(ready) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        try {
            const StoreClient client(store.options(1));
            [[maybe_unused]] const auto written = write(ready[1], "x", 1);
            while (true) pause();
        } catch (...) {
            _exit(1);
        }
    }
    StoreClient client(store.options(0));
    char byte = 0;
    REQUIRE(read(ready[0], &byte, 1) == 1);
    kill(child, SIGKILL);
    std::vector<Lost> lost;
    CHECK(hears_of_loss(client, lost));
    REQUIRE(lost.size() == 1);
    CHECK(lost[0].rank == 1u);
    waitpid(child, nullptr, 0);
    close(ready[0]);
    close(ready[1]);
}

TEST_CASE("a rank that leaves is told as such, and an exchange that needs it ends at once and names it") {
    const Store store(3);
    StoreClient zero(store.options(0));
    auto waiting = std::async(std::launch::async, [&] { return error_of([&] { zero.barrier("before", in(600s)); }); });
    {
        StoreClient one(store.options(1));
        // Whether rank 0 is already waiting or not, it must end: both orders are this one case.
    }
    CHECK_THAT(waiting.get().what(),
               VERBENA_CONTAINS("rank 1 (on ") && VERBENA_CONTAINS("left the job without taking part"));
    CHECK_THAT(error_of([&] { zero.barrier("after", in(600s)); }).what(), VERBENA_CONTAINS("left the job"));
    const std::vector<Lost> told = zero.poll_lost();
    REQUIRE(told.size() == 1);
    CHECK(told[0].rank == 1u);
    CHECK(told[0].reason == "it left the job");
}

TEST_CASE("a leave is heard although the leaver had not read what the store told it") {
    for (int repeat = 0; repeat < 50; ++repeat) {
        const Store store(3);
        StoreClient zero(store.options(0));
        auto one = std::make_optional<StoreClient>(store.options(1));
        auto two = std::make_optional(connect_to_store(store.options(2)));
        two.reset(); // rank 1 is sent a message that it never takes
        one.reset();
        std::vector<Lost> lost;
        REQUIRE(hears_of_loss(zero, lost));
        while (lost.size() < 2) {
            for (const auto& more : zero.poll_lost()) lost.push_back(more);
        }
        REQUIRE(lost.size() == 2);
        for (const Lost& each : lost) REQUIRE((each.reason == "it left the job") == (each.rank == 1u));
    }
}

TEST_CASE("a store that is destroyed says that the job is over, and nobody is lost") {
    auto store = std::make_optional<Store>(2u);
    StoreClient zero(store->options(0));
    auto waiting = std::async(std::launch::async, [&] { return error_of([&] { zero.barrier("x", in(600s)); }); });
    store.reset();
    const Error error = waiting.get();
    CHECK(error.code() == ErrorCode::unavailable);
    CHECK_THAT(error.what(), VERBENA_CONTAINS("has closed: the job is over"));
    CHECK(zero.poll_lost().empty());
}

TEST_CASE("when the process that hosts the store is killed, every client learns that its rank is lost") {
    int ports[2];
    REQUIRE(pipe(ports) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        try {
            const StoreServer server({.bind = "127.0.0.1", .secret = "s", .size = 2, .store_rank = 0});
            const std::uint16_t port = server.port();
            [[maybe_unused]] const auto written = write(ports[1], &port, sizeof port);
            while (true) pause();
        } catch (...) {
            _exit(1);
        }
    }
    std::uint16_t port = 0;
    REQUIRE(read(ports[0], &port, sizeof port) == sizeof port);
    StoreClient client({.host = "127.0.0.1", .port = port, .secret = "s", .rank = 1, .size = 2});
    kill(child, SIGKILL);
    const Error error = error_of([&] { client.barrier("x", in(600s)); });
    CHECK(error.code() == ErrorCode::peer_lost);
    CHECK_THAT(error.what(), VERBENA_CONTAINS("rank 0 is lost: the store at 127.0.0.1:"));
    const auto lost = client.poll_lost();
    REQUIRE(lost.size() == 1);
    CHECK(lost[0].rank == 0u);
    waitpid(child, nullptr, 0);
    close(ports[0]);
    close(ports[1]);
}

TEST_CASE("the host of the store can wait for the others to leave") {
    Store store(2);
    StoreClient zero(store.options(0));
    auto one = std::make_optional<StoreClient>(store.options(1));
    CHECK_FALSE(store.server.wait_until_empty(in(1ms)));
    zero.leave();
    auto empty = std::async(std::launch::async, [&] { return store.server.wait_until_empty(in(60s)); });
    one.reset();
    CHECK(empty.get());
}

TEST_CASE("a job begins anew at the same store once everybody has left") {
    const Store store(2);
    for (int job = 0; job < 3; ++job) {
        const auto results = run_ranks(store, [&](StoreClient& client, std::uint32_t) {
            const auto values = client.exchange("x", std::to_string(job), in(60s));
            return values.at(0) + values.at(1);
        });
        CHECK(results == std::vector<std::string>(2, std::to_string(job) + std::to_string(job)));
    }
}

TEST_CASE("a client waits for a store that starts later") {
    const std::uint16_t port = Store(1).server.port();
    StoreClient::Options options{.host = "127.0.0.1", .port = port, .secret = "s", .connect_timeout = 60s};
    auto client = std::async(std::launch::async, [&] { return StoreClient(options).local_host(); });
    const StoreServer server({.bind = "127.0.0.1", .port = port, .secret = "s"});
    CHECK(client.get() == "127.0.0.1");
}

TEST_CASE("why a client cannot join is told apart") {
    const Store store(2);
    const StoreClient first(store.options(0));
    const std::uint16_t silent_port = Store(1).server.port();
    StoreClient::Options options = store.options(1);
    options.connect_timeout = 20ms;
    auto [what, change, code, sentence] =
        GENERATE_COPY(table<std::string, std::function<void(StoreClient::Options&)>, ErrorCode, std::string>({
            {"name", [](auto& o) { o.host = "no-such-host.invalid"; }, ErrorCode::unavailable,
             "the store's host \"no-such-host.invalid\" does not resolve: "},
            {"refused", [=](auto& o) { o.port = silent_port; }, ErrorCode::unavailable,
             "refused the connection: nothing listens there"},
            {"secret", [](auto& o) { o.secret = "battery staple"; }, ErrorCode::refused, "its secret is another one"},
            {"rank taken", [](auto& o) { o.rank = 0; }, ErrorCode::refused, "rank 0 is taken by another process on "},
            {"rank range", [](auto& o) { o.rank = 2; }, ErrorCode::invalid_argument, "rank 2 is not below size 2"},
            {"size", [](auto& o) { o.size = 3; }, ErrorCode::invalid_argument,
             "expects 2 ranks, this process was started as one of 3"},
        }));
    INFO(what);
    change(options);
    const Error error = error_of([&] { const StoreClient client(options); });
    CHECK(error.code() == code);
    CHECK_THAT(error.what(), VERBENA_CONTAINS(sentence));
    CHECK_FALSE(error.advice().empty());
}

TEST_CASE("a port that is in use is named with what to do") {
    const Store store(1);
    const std::uint16_t port = store.server.port();
    const Error error = error_of([&] { const StoreServer second({.bind = "127.0.0.1", .port = port, .secret = "s"}); });
    CHECK(error.code() == ErrorCode::refused);
    CHECK(error.cause() == Cause{Origin::system_errno, EADDRINUSE, 0});
    CHECK_THAT(error.what(),
               VERBENA_CONTAINS("cannot listen on 127.0.0.1:" + std::to_string(port) + ": the port is in use"));
    CHECK_THAT(error.advice(),
               VERBENA_CONTAINS("VERBENA_STORE") && VERBENA_CONTAINS("sport = :" + std::to_string(port)));
}

TEST_CASE("an address of no interface, and a name that is none, are named") {
    CHECK_THAT(error_of([] { const StoreServer server({.bind = "192.0.2.1", .secret = "s"}); }).what(),
               VERBENA_CONTAINS("192.0.2.1:0: EADDRNOTAVAIL"));
    CHECK_THAT(error_of([] { const StoreServer server({.bind = "no-such-host.invalid", .secret = "s"}); }).what(),
               VERBENA_CONTAINS("cannot listen on \"no-such-host.invalid\""));
}

TEST_CASE("a store bound to no address is reached by IPv4") {
    const StoreServer server({.secret = "s"});
    StoreClient client({.host = "127.0.0.1", .port = server.port(), .secret = "s"});
    CHECK(client.exchange("x", "v", in(60s)) == std::vector<std::string>{"v"});
}
