/// @file
/// A store and ranks for it, all in this process. Ranks run on threads, which Catch2's assertions do not like: they
/// give values or throw, and the test looks at what came of it.
#pragma once

#include <functional>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <verbena/error.hpp>

#include "boot/store_client.hpp"
#include "boot/store_server.hpp"

namespace verbena::boot::test {

using namespace std::chrono_literals;

inline StoreClient::Deadline in(std::chrono::nanoseconds limit) { return std::chrono::steady_clock::now() + limit; }

struct Store {
    explicit Store(std::uint32_t ranks, std::chrono::nanoseconds handshake_timeout = 5s)
        : size(ranks),
          server({.bind = "127.0.0.1",
                  .secret = "correct horse",
                  .size = ranks,
                  .store_rank = {},
                  .handshake_timeout = handshake_timeout}) {}

    [[nodiscard]] StoreClient::Options options(std::uint32_t rank) const {
        return {.host = "127.0.0.1", .port = server.port(), .secret = "correct horse", .rank = rank, .size = size};
    }

    std::uint32_t size;
    StoreServer server;
};

/// Calls `work` with a client on a thread for each rank; gives what they returned, or the sentence of what they threw.
inline std::vector<std::string> run_ranks(const Store& store,
                                          const std::function<std::string(StoreClient&, std::uint32_t)>& work) {
    std::vector<std::future<std::string>> ranks;
    for (std::uint32_t rank = 0; rank < store.size; ++rank) {
        ranks.push_back(std::async(std::launch::async, [&store, &work, rank]() -> std::string {
            try {
                StoreClient client(store.options(rank));
                return work(client, rank);
            } catch (const Error& error) {
                return std::string(name(error.code())) + ": " + error.what();
            }
        }));
    }
    std::vector<std::string> results;
    for (auto& rank : ranks) results.push_back(rank.get());
    return results;
}

/// The Error that `call` ends with; a code of ok when it ends well.
inline Error error_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& error) {
        return error;
    }
    return Error(ErrorCode::ok, "no error");
}

/// Polls until the client hears of a loss; false when it does not within a minute.
inline bool hears_of_loss(StoreClient& client, std::vector<Lost>& lost) {
    for (const auto limit = in(60s); lost.empty() && std::chrono::steady_clock::now() < limit;) {
        for (Lost& one : client.poll_lost()) lost.push_back(std::move(one));
        std::this_thread::yield();
    }
    return !lost.empty();
}

} // namespace verbena::boot::test
