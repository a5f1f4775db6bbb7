/// @file
/// Where the ranks of a job meet: a small authenticated key-value store on TCP.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace verbena::boot {

/// Serves from construction to destruction on a thread of its own, the only one of the library, outside the core.
/// Strangers are refused; they can neither crash nor stall it (limits in store_loop.hpp). *Thread-safe*.
class StoreServer {
  public:
    struct Options {
        std::string bind;       ///< address to listen on; empty: every one, IPv4 and IPv6
        std::uint16_t port = 0; ///< 0: any
        std::string secret;
        std::uint32_t size = 1;                  ///< ranks of the job
        std::optional<std::uint32_t> store_rank; ///< the rank in whose process this is; empty: none
        std::chrono::nanoseconds peer_timeout = std::chrono::seconds(10); ///< a host silent for so long is lost
        std::chrono::nanoseconds handshake_timeout = std::chrono::seconds(5);
    };

    /// @throws Error naming address and port when it cannot listen.
    explicit StoreServer(const Options& options);
    /// Tells every client that the store closes, and stops at once.
    ~StoreServer();
    StoreServer(const StoreServer&) = delete;
    StoreServer& operator=(const StoreServer&) = delete;

    [[nodiscard]] std::uint16_t port() const noexcept;
    /// Waits until no rank is in the job, so that the process that hosts the store can leave it and then go last; false
    /// once the deadline has passed.
    bool wait_until_empty(std::chrono::steady_clock::time_point deadline);

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace verbena::boot
