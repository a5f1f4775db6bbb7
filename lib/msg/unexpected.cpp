#include "msg/unexpected.hpp"

#include <cstring>

namespace verbena::msg {

UnexpectedMessage& UnexpectedStore::push(UnexpectedQueue& queue, const Header& header, UnexpectedMessage::Place place) {
    if (free_.empty()) {
        if (free_.capacity() <= nodes_.size()) free_.reserve(2 * (nodes_.size() + 1));
        nodes_.add();
        free_.push_back(static_cast<std::uint32_t>(nodes_.size() - 1));
    }
    const std::uint32_t node = free_.back();
    free_.pop_back();
    UnexpectedMessage& message = nodes_[node];
    message.header = header;
    message.place = place;
    message.credit_withheld = false;
    message.next = no_operation;
    (queue.head == no_operation ? queue.head : nodes_[queue.tail].next) = node;
    queue.tail = node;
    return message;
}

void UnexpectedStore::copy(UnexpectedMessage& message, std::span<const std::byte> payload) {
    if (message.storage_bytes < payload.size()) {
        message.storage = std::make_unique_for_overwrite<std::byte[]>(payload.size());
        message.storage_bytes = payload.size();
    }
    if (!payload.empty()) std::memcpy(message.storage.get(), payload.data(), payload.size());
    copied_ += payload.size();
}

std::uint32_t UnexpectedStore::take(UnexpectedQueue& queue, Context context, Tag tag) noexcept {
    std::uint32_t previous = no_operation;
    for (std::uint32_t node = queue.head; node != no_operation; previous = node, node = nodes_[node].next) {
        if (nodes_[node].header.context != context || nodes_[node].header.tag != tag) continue;
        (previous == no_operation ? queue.head : nodes_[previous].next) = nodes_[node].next;
        if (queue.tail == node) queue.tail = previous;
        return node;
    }
    return no_operation;
}

std::optional<Tag> UnexpectedStore::first_tag(const UnexpectedQueue& queue, Context context) const noexcept {
    for (std::uint32_t node = queue.head; node != no_operation; node = nodes_[node].next) {
        if (nodes_[node].header.context == context) return nodes_[node].header.tag;
    }
    return std::nullopt;
}

void UnexpectedStore::release(std::uint32_t node) noexcept {
    if (nodes_[node].place == UnexpectedMessage::Place::copied) copied_ -= nodes_[node].header.length;
    free_.push_back(node);
}

} // namespace verbena::msg
