/// Who may call a Runtime, over shared memory between two Runtimes of this process. Catch2's assertions are not
/// thread-safe: threads count, and the test looks at what came of it.
#include "catch.hpp"

#include <array>
#include <atomic>
#include <future>
#include <optional>
#include <thread>
#include <variant>
#include <vector>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <verbena/verbena.hpp>

using namespace verbena;

namespace {

int free_port() {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    (void)::bind(socket, reinterpret_cast<sockaddr*>(&address), length);
    (void)::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length);
    ::close(socket);
    return ntohs(address.sin_port);
}

Settings settings(int rank, int port, const char* threads) {
    Settings made;
    made.set("rank", std::to_string(rank));
    made.set("size", "2");
    made.set("local-size", "2");
    made.set("store", "127.0.0.1:" + std::to_string(port));
    made.set("bind", "127.0.0.1");
    made.set("secret", "correct horse");
    made.set("wire", "shm");
    made.set("gpu", "off");
    made.set("threads", threads);
    made.set("backlog-limit", "8KiB");
    return made;
}

constexpr std::uint64_t messages = 50; // each hand-over of the lock is a turn of the scheduler

/// Sends and receives `messages` numbers under a tag of its own; how many came right.
std::uint64_t exchange(Runtime& runtime, std::uint32_t peer, Tag tag) {
    Endpoint endpoint = runtime.endpoint(peer);
    std::uint64_t right = 0;
    for (std::uint64_t i = 0; i < messages; ++i) {
        const std::array<std::uint64_t, 2> mine{tag, i};
        std::array<std::uint64_t, 2> theirs{};
        Operation receive = endpoint.receive(std::as_writable_bytes(std::span(theirs)), tag);
        for (;;) {
            Admission sent = endpoint.try_send(std::as_bytes(std::span(mine)), tag);
            if (auto* operation = std::get_if<Operation>(&sent)) {
                if (!operation->wait().ok()) return right;
                break;
            }
            if (!endpoint.wait_for_room(sizeof mine).ok()) return right;
        }
        if (!receive.wait().ok()) return right;
        right += theirs == mine ? 1 : 0;
    }
    return right;
}

} // namespace

TEST_CASE("a serialised Runtime serves three threads at each end, every message once and whole") {
    const int port = free_port();
    auto other =
        std::async(std::launch::async, [&] { return std::make_unique<Runtime>(settings(1, port, "serialised")); });
    auto first = std::make_unique<Runtime>(settings(0, port, "serialised"));
    auto second = other.get(); // made by another thread than the one that ends it
    std::atomic<std::uint64_t> right{0};
    std::vector<std::thread> threads;
    for (Tag tag = 1; tag <= 3; ++tag) {
        threads.emplace_back([&, tag] { right += exchange(*first, 1, tag); });
        threads.emplace_back([&, tag] { right += exchange(*second, 0, tag); });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(right == 6 * messages);
    auto closing = std::async(std::launch::async, [&] { second.reset(); });
    first.reset();
    closing.get();
}

#ifndef NDEBUG
TEST_CASE("a call from another thread than a Runtime's own is refused with what to do") {
    Settings alone;
    alone.set("gpu", "off");
    Runtime runtime(alone);
    CHECK(runtime.progress() == 0);
    std::string said;
    std::string advice;
    std::thread([&] {
        try {
            (void)runtime.progress();
        } catch (const Error& error) {
            said = error.what();
            advice = error.advice();
        }
    }).join();
    CHECK_THAT(said, VERBENA_CONTAINS("from a thread that did not make it"));
    CHECK_THAT(advice, VERBENA_CONTAINS("threads=serialised"));
}
#endif
