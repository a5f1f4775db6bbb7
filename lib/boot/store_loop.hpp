/// @file
/// The event loop of the store: connections in, messages to and from the JobState.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "boot/connection.hpp"
#include "boot/job_state.hpp"
#include "boot/socket.hpp"
#include "boot/store_server.hpp"

namespace verbena::boot {

/// How many connections beyond one a rank may be open before they have joined; then the oldest of them is closed.
inline constexpr std::size_t spare_strangers = 64;

/// run() belongs to the store's thread; stop(), port() and wait_until_empty() are *thread-safe*.
class StoreLoop {
  public:
    /// @throws Error when it cannot listen.
    explicit StoreLoop(const StoreServer::Options& options);

    void run() noexcept;
    void stop() noexcept;
    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    [[nodiscard]] bool wait_until_empty(Deadline deadline);

  private:
    /// Ascending in order of arrival, so the first of strangers_ is the oldest.
    using Id = std::uint64_t;

    void turn();
    void accept_new();
    void admit_stranger(FileDescriptor fd);
    void serve(Id id);
    void handle(Id id, Connection& connection, const std::string& bytes);
    void join(Id id, Connection& connection, const Join& message);
    void post(const Outbox& out);
    void flush_dirty();
    void remove(Id id, const std::string& reason);
    void expire();
    void pause_listening();
    void resume_listening();
    void watch(int fd, Id id, std::uint32_t events, int operation);
    void say_goodbye();
    void publish_presence();
    [[nodiscard]] std::string why_ended(const Connection& connection) const;
    [[nodiscard]] Deadline next_deadline() const;

    StoreServer::Options options_;
    Key key_;
    FileDescriptor listener_;
    FileDescriptor epoll_;
    FileDescriptor wake_;
    std::uint16_t port_ = 0;

    JobState job_;
    std::map<Id, Connection> connections_;
    std::set<Id> strangers_;
    std::map<std::uint32_t, Id> members_; ///< by rank
    std::set<Id> dirty_;                  ///< have something to be written
    Id next_id_;
    bool is_listening_ = true;
    Deadline listen_again_{};

    std::atomic<bool> stopping_ = false;
    std::mutex mutex_; ///< guards present_
    std::condition_variable changed_;
    std::uint32_t present_ = 0;
};

} // namespace verbena::boot
