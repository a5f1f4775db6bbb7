/// What strangers may do to a live store, while ranks work with it.
#include "catch.hpp"

#include <atomic>
#include <iostream>
#include <random>

#include <arpa/inet.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "boot/crypto.hpp"
#include "boot/handshake.hpp"
#include "boot/socket.hpp"
#include "boot/store_loop.hpp"
#include "store_fixture.hpp"

using namespace verbena;
using namespace verbena::boot;
using namespace verbena::boot::test;

namespace {

/// A bare connection to the store, or to anything else on this host.
class Stranger {
  public:
    explicit Stranger(std::uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
            fd_ = FileDescriptor();
    }
    void say(std::string_view bytes) const { (void)!send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL); }
    /// Up to `count` bytes; fewer when the store closes first.
    [[nodiscard]] std::string hear(std::size_t count) const {
        std::string bytes(count, '\0');
        std::size_t got = 0;
        for (ssize_t more = 1; got < count && more > 0; got += static_cast<std::size_t>(std::max<ssize_t>(more, 0))) {
            more = recv(fd_.get(), bytes.data() + got, count - got, 0);
        }
        bytes.resize(got);
        return bytes;
    }
    [[nodiscard]] bool was_closed() const { return hear(1).empty(); }
    [[nodiscard]] bool is_closed_now() const {
        char byte = 0;
        const ssize_t got = recv(fd_.get(), &byte, 1, MSG_DONTWAIT);
        return got == 0 || (got < 0 && errno != EAGAIN);
    }

  private:
    FileDescriptor fd_;
};

std::string text(const auto& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

const std::string hello = text(make_hello(Answer::accepted, Nonce{1, 2, 3}));

/// Two ranks that meet again and again until told to stop, both in the same round.
class Workers {
  public:
    explicit Workers(const Store& store)
        : results_(std::async(std::launch::async, [this, &store] {
              return run_ranks(store, [this](auto& client, auto rank) { return work(client, rank); });
          })) {}
    [[nodiscard]] std::vector<std::string> stop() {
        stop_ = true;
        return results_.get();
    }
    [[nodiscard]] int rounds() const { return rounds_; }

  private:
    std::string work(StoreClient& client, std::uint32_t rank) {
        while (true) {
            const auto said = client.exchange("go", rank == 0 && stop_ ? "stop" : "go", in(60s));
            if (said.at(0) != "stop") {
                ++rounds_;
                continue;
            }
            for (const Lost& lost : client.poll_lost()) {
                if (lost.reason != "it left the job") return "lost someone"; // another worker may stop first
            }
            return "well";
        }
    }

    std::atomic<bool> stop_ = false;
    std::atomic<int> rounds_ = 0;
    std::future<std::vector<std::string>> results_;
};

const std::vector<std::string> all_well(2, "well");

} // namespace

TEST_CASE("garbage is closed without an answer") {
    const Store store(1);
    const auto garbage =
        GENERATE(as<std::string>(), "GET / HTTP/1.0\r\n\r\n", std::string(8, '\0'), std::string(100'000, '\xff'));
    const Stranger stranger(store.server.port());
    stranger.say(garbage);
    CHECK(stranger.was_closed());
}

TEST_CASE("a client of another version is told the version of the store, in the clear") {
    const Store store(1);
    const Stranger stranger(store.server.port());
    stranger.say(std::string("VRBN\2\1\0\0 and whatever a later version says", 42));
    CHECK(stranger.hear(100) == text(make_hello(Answer::other_version, {})));
}

TEST_CASE("a store of another version, and something that is no store, are told apart by the client") {
    auto [answer, sentence] = GENERATE(table<std::string, std::string>(
        {{std::string("VRBN\7\0\1\0", 8), "speaks protocol version 7, this process version 1"},
         {"SSH-2.0-whatever", "is not a verbena store"},
         {"", "closed the connection without an answer"},
         // knows no secret, yet says that ours is right
         {hello + std::string(36, '\0'), "does not know the secret"}}));
    const FileDescriptor listener = listen_on("127.0.0.1", 0);
    std::atomic<bool> done = false;
    auto impostor = std::async(std::launch::async, [&] {
        while (!done) {
            if (!wait_for(listener.get(), POLLIN, in(1ms))) continue;
            const FileDescriptor fd(accept(listener.get(), nullptr, nullptr));
            char bytes[hello_bytes + proof_bytes];
            (void)!recv(fd.get(), bytes, answer.size() > hello_bytes ? sizeof bytes : hello_bytes, 0);
            (void)!send(fd.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
            if (answer.size() > hello_bytes) (void)!recv(fd.get(), bytes, proof_bytes, MSG_WAITALL);
        }
    });
    const auto port = ntohs(reinterpret_cast<const sockaddr_in&>(local_address(listener.get()).storage).sin_port);
    const Error error = error_of(
        [&] { const StoreClient client({.host = "127.0.0.1", .port = port, .secret = "s", .connect_timeout = 50ms}); });
    done = true;
    CHECK_THAT(error.what(), VERBENA_CONTAINS(sentence));
    CHECK(error.code() == (answer.empty() ? ErrorCode::unavailable : ErrorCode::refused));
}

TEST_CASE("a client that says nothing, or a byte at a time, is closed when its time is over") {
    const Store store(2, 50ms);
    Workers workers(store);
    const Stranger silent(store.server.port());
    const Stranger half_open(store.server.port());
    half_open.say(hello.substr(0, 39));
    const Stranger unproven(store.server.port());
    unproven.say(hello);
    const Stranger slow(store.server.port());
    std::size_t said = 0;
    while (!slow.is_closed_now()) { // the handshake's time, not that of one message, is limited
        if (said < hello.size()) slow.say(hello.substr(said++, 1));
        std::this_thread::yield();
    }
    CHECK(silent.was_closed());
    CHECK(half_open.was_closed());
    CHECK(unproven.hear(100).size() == hello_bytes);
    CHECK(workers.stop() == all_well);
}

TEST_CASE("a flood of connections closes the oldest of itself, and ranks go on") {
    const Store store(2, 600s);
    Workers workers(store);
    std::vector<Stranger> strangers;
    const std::size_t limit = store.size + spare_strangers;
    for (std::size_t i = 0; i < 3 * limit; ++i) strangers.emplace_back(store.server.port());
    for (std::size_t i = 0; i < 2 * limit; ++i) CHECK(strangers[i].was_closed());
    const int before = workers.rounds();
    while (workers.rounds() == before) std::this_thread::yield();
    CHECK(workers.stop() == all_well);
    CHECK_FALSE(strangers.back().is_closed_now());
}

TEST_CASE("a record of huge length is not believed, although its sender knows the secret") {
    const Store store(1, 600s); // so that it is not the time that closes it
    const Stranger stranger(store.server.port());
    const HelloBytes ours = make_hello(Answer::accepted, random_nonce());
    stranger.say(text(ours));
    const std::string reply = stranger.hear(hello_bytes);
    REQUIRE(reply.size() == hello_bytes);
    HelloBytes theirs;
    std::copy(reply.begin(), reply.end(), theirs.begin());
    stranger.say(text(Session(key_from("correct horse"), ours, theirs).proof(Role::client)));
    REQUIRE(stranger.hear(verdict_bytes).size() == verdict_bytes);
    stranger.say("\xff\xff\xff\x7f");
    CHECK(stranger.was_closed());
}

TEST_CASE("running out of file descriptors stops new clients, not the store") {
    const Store store(2, 600s);
    Workers workers(store);
    while (workers.rounds() == 0) std::this_thread::yield();
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
    const Stranger probe(store.server.port());
    std::vector<Stranger> strangers;
    strangers.reserve(64);
    {
        // The store shares the limit of this process: its next descriptors are the ones that are missing.
        const FileDescriptor highest(dup(0));
        rlimit low = before;
        low.rlim_cur = static_cast<rlim_t>(highest.get()) + 20;
        REQUIRE(setrlimit(RLIMIT_NOFILE, &low) == 0);
        for (int i = 0; i < 40; ++i) strangers.emplace_back(store.server.port());
        const int rounds = workers.rounds();
        while (workers.rounds() < rounds + 10) std::this_thread::yield();
        REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
    }
    strangers.clear();
    const Stranger late(store.server.port());
    late.say(hello);
    CHECK(late.hear(hello_bytes).size() == hello_bytes);
    CHECK(workers.stop() == all_well);
}

TEST_CASE("20000 random byte strings and mutated handshakes leave the ranks at work") {
    const auto seed = std::random_device{}();
    std::cout << "seed " << seed << "\n";
    CAPTURE(seed);
    std::mt19937 random(seed);
    const Store store(2);
    Workers workers(store);
    const Session recorded(key_from("correct horse"), make_hello(Answer::accepted, Nonce{1, 2, 3}),
                           make_hello(Answer::accepted, {}));
    const std::string proof = text(recorded.proof(Role::client));
    for (int i = 0; i < 20'000; ++i) {
        std::string bytes(random() % 200, '\0');
        for (char& byte : bytes) byte = static_cast<char>(random());
        if (i % 2 ==
            0) { // a valid beginning, then damage; every other time with a proof that held for another connection
            bytes = hello + (i % 4 == 0 ? proof : std::string()) + bytes;
            for (std::size_t flips = random() % 3; flips > 0; --flips)
                bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
            bytes.resize(random() % (bytes.size() + 1));
        }
        const Stranger stranger(store.server.port());
        stranger.say(bytes);
        if (i % 64 == 0) (void)stranger.hear(bytes.size() < hello_bytes ? 0 : 1);
    }
    CHECK(workers.rounds() > 0);
    CHECK(workers.stop() == all_well);
}
