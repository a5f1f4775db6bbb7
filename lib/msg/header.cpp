#include "msg/header.hpp"

#include <bit>
#include <cstring>

#include <verbena/error.hpp>

namespace verbena::msg {

static_assert(std::endian::native == std::endian::little, "the wire format is read and written in place");

std::optional<Header> parse_header(std::span<const std::byte> message) noexcept {
    if (message.size() < header_bytes) return std::nullopt;
    Header header;
    std::memcpy(&header, message.data(), header_bytes);
    if (header.version != Header::current_version) return std::nullopt;
    if (header.status > static_cast<std::uint8_t>(ErrorCode::internal)) return std::nullopt;
    const std::size_t payload = message.size() - header_bytes;
    switch (header.kind) {
    case MessageKind::eager:
        return payload == header.length ? std::optional(header) : std::nullopt;
    case MessageKind::rendezvous:
        return payload == sizeof(RendezvousBody) || payload == longest_offer ? std::optional(header) : std::nullopt;
    case MessageKind::request: {
        if (payload < sizeof(RequestBody) || payload - sizeof(RequestBody) != header.length) return std::nullopt;
        const RequestKind kind = request_body(message).kind;
        const bool is_known = kind >= RequestKind::put && kind <= RequestKind::sync;
        return is_known && (kind == RequestKind::put || header.length == 0) ? std::optional(header) : std::nullopt;
    }
    case MessageKind::answer:
        return payload == header.length ? std::optional(header) : std::nullopt;
    case MessageKind::finished:
    case MessageKind::probe:
    case MessageKind::bare_grant:
        return payload == 0 ? std::optional(header) : std::nullopt;
    }
    return std::nullopt;
}

RendezvousOffer rendezvous_offer(std::span<const std::byte> message) noexcept {
    RendezvousOffer offer;
    const std::span<const std::byte> payload = message.subspan(header_bytes);
    std::memcpy(&offer.body, payload.data(), sizeof offer.body);
    if (payload.size() == longest_offer) {
        offer.shared.emplace();
        std::memcpy(&*offer.shared, payload.data() + sizeof offer.body, sizeof *offer.shared);
    }
    return offer;
}

RequestBody request_body(std::span<const std::byte> message) noexcept {
    RequestBody body;
    std::memcpy(&body, message.data() + header_bytes, sizeof body);
    return body;
}

} // namespace verbena::msg
