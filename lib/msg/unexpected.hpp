/// @file
/// Messages that arrived before their receive was posted. Progress-thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/stable_vector.hpp"
#include "msg/header.hpp"
#include "msg/operation_table.hpp"
#include "peer/receive_pool.hpp"

namespace verbena::msg {

/// One early message of one peer. Where its bytes are:
///   copied       in `storage`; the receive buffer went back at once, and its credit too but where the limit is reached
///                on a queue pair whose buffers serve all peers: there the sender stalls for want of the credit alone
///   held         in the receive buffer itself: the limit is reached, so its credit is withheld and the sender stalls
///   to_fetch     with the sender: a rendezvous
///   local        in another operation of this rank (a message to oneself)
struct UnexpectedMessage {
    enum class Place : std::uint8_t { copied, held, to_fetch, local };

    Header header{};
    Place place = Place::copied;
    bool credit_withheld = false;
    RendezvousOffer offer{};
    std::unique_ptr<std::byte[]> storage; ///< kept with the node when it is free, so that it is allocated once
    std::size_t storage_bytes = 0;
    std::span<std::byte> held{};
    peer::BufferId buffer{};
    std::uint32_t operation = no_operation;
    std::uint32_t next = no_operation;

    [[nodiscard]] std::span<const std::byte> payload() const noexcept {
        return place == Place::held ? std::span<const std::byte>(held)
                                    : std::span<const std::byte>(storage.get(), header.length);
    }
};

/// Early messages of one peer, in order of arrival.
struct UnexpectedQueue {
    std::uint32_t head = no_operation;
    std::uint32_t tail = no_operation;
};

/// The nodes of all peers, and the bytes that they copy.
class UnexpectedStore {
  public:
    explicit UnexpectedStore(std::uint64_t limit_bytes) noexcept : limit_(limit_bytes) {}

    /// Room for the payload within the limit.
    [[nodiscard]] bool may_copy(std::uint64_t bytes) const noexcept { return copied_ + bytes <= limit_; }

    UnexpectedMessage& push(UnexpectedQueue& queue, const Header& header, UnexpectedMessage::Place place);
    /// Copies the payload into a message that push() made with Place::copied.
    void copy(UnexpectedMessage& message, std::span<const std::byte> payload);

    /// The first that matches, still in the queue's order; no_operation where none does. The node stays valid until
    /// release().
    [[nodiscard]] std::uint32_t take(UnexpectedQueue& queue, Context context, Tag tag) noexcept;
    /// The tag of the first of this context; nothing where there is none.
    [[nodiscard]] std::optional<Tag> first_tag(const UnexpectedQueue& queue, Context context) const noexcept;
    [[nodiscard]] UnexpectedMessage& operator[](std::uint32_t node) noexcept { return nodes_[node]; }
    void release(std::uint32_t node) noexcept;

    [[nodiscard]] std::uint64_t copied_bytes() const noexcept { return copied_; }

  private:
    std::uint64_t limit_;
    std::uint64_t copied_ = 0;
    StableVector<UnexpectedMessage> nodes_;
    std::vector<std::uint32_t> free_;
};

} // namespace verbena::msg
