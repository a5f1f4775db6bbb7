/// @file
/// What the store knows about a job: who is in it, which keys have values, which exchanges are under way. A value: no
/// I/O, clock or thread; what is to be sent comes back in an Outbox. One caller at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "boot/protocol.hpp"

namespace verbena::boot {

/// An encoded message for one rank. The bytes are shared: the result of an exchange goes to every rank.
struct Outgoing {
    std::uint32_t rank = 0;
    std::shared_ptr<const std::string> message;
};
using Outbox = std::vector<Outgoing>;

class JobState {
  public:
    JobState(std::uint32_t size, std::optional<std::uint32_t> store_rank) : size_(size), store_rank_(store_rank) {}

    /// Answers a Join. Once admitted the rank is present, and learns in `out` which others are lost. A job begins anew,
    /// all values forgotten, when a rank joins and nobody is present.
    [[nodiscard]] Welcome join(const Join& join, Outbox& out);
    /// Acts on a message of a present rank. @throws Error (protocol_violation) for one that no client sends.
    void handle(std::uint32_t rank, Message&& message, Outbox& out);
    /// The rank's connection ended without a Leave.
    void lose(std::uint32_t rank, const std::string& reason, Outbox& out);

    [[nodiscard]] bool is_present(std::uint32_t rank) const;
    [[nodiscard]] std::uint32_t present() const noexcept { return present_; }

  private:
    enum class Presence : std::uint8_t { present, left, lost };
    struct Member {
        Presence presence = Presence::present;
        std::string host;
        std::string reason; ///< of a lost one
    };
    struct Round {
        std::uint64_t number = 0;
        std::vector<std::optional<std::string>> values; ///< by rank
        std::uint32_t count = 0;                        ///< of values that are there
    };
    struct Waiter {
        std::uint32_t rank = 0;
        std::uint64_t request = 0;
    };

    void put(Put&& message, Outbox& out);
    void get(std::uint32_t rank, const Get& message, Outbox& out);
    void contribute(std::uint32_t rank, Contribute&& message, Outbox& out);
    void leave(std::uint32_t rank, Outbox& out);
    void finish(const std::string& name, Round& round, Outbox& out) const;
    [[nodiscard]] Missing missing(const AskMissing& question) const;
    [[nodiscard]] MissingRank named(std::uint32_t rank) const;
    void send_to_all(const Message& message, Outbox& out) const;

    std::uint32_t size_;
    std::optional<std::uint32_t> store_rank_;
    std::uint32_t present_ = 0;
    std::map<std::uint32_t, Member> members_; ///< every rank that ever joined this job
    std::unordered_map<std::string, std::string> values_;
    std::unordered_map<std::string, std::vector<Waiter>> waiters_; ///< by key without a value
    std::map<std::string, Round> rounds_;
};

} // namespace verbena::boot
