#include "reliable/packet.hpp"

#include <bit>
#include <cstring>

namespace verbena::reliable {

static_assert(std::endian::native == std::endian::little, "the packet format is read and written in place");

namespace {

/// A piece lies within its whole, and says that it is the last one exactly when it is.
bool is_piece(const PacketHeader& header, std::size_t payload) noexcept {
    const std::uint64_t end = header.offset + static_cast<std::uint64_t>(payload);
    const bool last = (header.flags & last_piece) != 0;
    return end <= header.length && (end == header.length) == last && (payload > 0 || header.length == 0);
}

} // namespace

std::optional<PacketHeader> parse_packet(std::span<const std::byte> packet) noexcept {
    if (packet.size() < acknowledgement_bytes) return std::nullopt;
    PacketHeader header;
    std::memcpy(static_cast<void*>(&header), packet.data(), acknowledgement_bytes);
    if (header.version != PacketHeader::current_version) return std::nullopt;
    if (header.kind == PacketKind::acknowledgement) {
        return packet.size() == acknowledgement_bytes && (header.flags & ~acknowledge_now) == 0 && header.status == 0
                   ? std::optional(header)
                   : std::nullopt;
    }
    if (packet.size() < header_bytes || header.flags > (last_piece | has_immediate | acknowledge_now)) {
        return std::nullopt;
    }
    std::memcpy(&header, packet.data(), header_bytes);
    const std::size_t payload = packet.size() - header_bytes;
    if (header.kind != PacketKind::response && header.status != 0) return std::nullopt;
    switch (header.kind) {
    case PacketKind::message:
    case PacketKind::write:
        return is_piece(header, payload) ? std::optional(header) : std::nullopt;
    case PacketKind::read:
        return payload == 0 ? std::optional(header) : std::nullopt;
    case PacketKind::response:
        if (header.status > static_cast<std::uint8_t>(wire::CompletionStatus::general_error)) return std::nullopt;
        if (header.status != 0 && (payload != 0 || header.length != 0)) return std::nullopt;
        return is_piece(header, payload) ? std::optional(header) : std::nullopt;
    case PacketKind::acknowledgement:
        break;
    }
    return std::nullopt;
}

} // namespace verbena::reliable
