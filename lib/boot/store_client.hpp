/// @file
/// One rank's connection to the store: values by key, exchanges between all ranks, and word of ranks that are gone.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace verbena::boot {

/// A rank whose process, or the path to it, is gone, or that has left the job.
struct Lost {
    std::optional<std::uint32_t> rank; ///< empty: the store itself, and no rank is known to host it
    std::string reason;
};

/// The store's word is what the calls rely on, so its deadline and its bad news end every one of them: with Error
/// timed_out once the deadline has passed, peer_lost at once when a rank is lost, unavailable when the store has
/// closed. *One caller at a time*; no thread. The connection must not be inherited by a fork() without exec, or the end
/// of this process goes unseen.
class StoreClient {
  public:
    using Deadline = std::chrono::steady_clock::time_point;

    struct Options {
        std::string host;
        std::uint16_t port = 0;
        std::string secret;
        std::uint32_t rank = 0;
        std::uint32_t size = 1;
        std::chrono::nanoseconds connect_timeout = std::chrono::seconds(30);
        std::chrono::nanoseconds peer_timeout = std::chrono::seconds(10); ///< a host silent for so long is lost
    };

    /// Connects, trying again until connect_timeout: the store may start later. Resolving a name takes as long as the
    /// system's resolver lets it.
    /// @throws Error that says why not: the name does not resolve, refused, no answer, another secret, version or size,
    /// a rank that another process has.
    explicit StoreClient(const Options& options);
    ~StoreClient(); ///< as leave()
    StoreClient(const StoreClient&) = delete;
    StoreClient& operator=(const StoreClient&) = delete;

    /// Sets a value of at most 1 MiB; it lasts while any rank is in the job.
    void put(std::string_view key, std::string_view value);
    /// Waits until the key has a value.
    [[nodiscard]] std::string get(std::string_view key, Deadline deadline);

    /// Every rank gives a value under the same name and gets all of them, by rank. A name may be used again, in the
    /// same order on every rank; a call that timed out may be repeated. The error of a time-out names the missing
    /// ranks, for which it may take up to a second beyond the deadline to ask the store.
    [[nodiscard]] std::vector<std::string> exchange(std::string_view name, std::string_view value, Deadline deadline);
    /// Waits until every rank has called it; its names are those of exchange.
    void barrier(std::string_view name, Deadline deadline);

    /// Calls `step` every millisecond or so while any call of this client waits, so that a rank goes on moving its
    /// messages. An empty one ends that.
    void call_while_waiting(std::function<void()> step);

    /// Ranks lost since the last call. Never waits: one recv().
    [[nodiscard]] std::vector<Lost> poll_lost();

    /// Leaves the job in good order, so that nobody takes this rank for lost. Idempotent. At most a second.
    void leave() noexcept;

    /// This host's address on the way to the store.
    [[nodiscard]] std::string local_host() const;

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace verbena::boot
