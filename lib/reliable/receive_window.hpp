/// @file
/// What has arrived from one peer: each packet is taken in once and in order; what came early waits. A state machine
/// without I/O or clock. Progress-thread only. Hot path.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>

#include "reliable/packet.hpp"

namespace verbena::reliable {

class ReceiveWindow {
  public:
    static constexpr std::uint32_t most_packets = 64;

    enum class Arrival : std::uint8_t {
        next,      ///< it is the one that is expected
        early,     ///< others are missing before it
        duplicate, ///< it was here before
        beyond,    ///< no window reaches so far: not from this peer's mind
    };

    /// Buffers of packets that wait, by sequence modulo most_packets; a peer has one only while some do.
    struct Waiting {
        std::array<std::uint32_t, most_packets> buffers;
    };

    explicit ReceiveWindow(Sequence first) noexcept : expected_(first) {}

    [[nodiscard]] Arrival classify(Sequence sequence) const noexcept {
        const std::int32_t distance = ahead(sequence, expected_);
        if (distance < 0) return Arrival::duplicate;
        if (distance >= static_cast<std::int32_t>(most_packets)) return Arrival::beyond;
        if ((arrived_ >> distance & 1) != 0) return Arrival::duplicate;
        return distance == 0 ? Arrival::next : Arrival::early;
    }

    /// It is here and waits: acknowledged from now on, never forgotten. Needs next or early.
    void keep(Sequence sequence) noexcept { arrived_ |= std::uint64_t{1} << ahead(sequence, expected_); }

    /// The expected packet has arrived and waits.
    [[nodiscard]] bool next_waits() const noexcept { return (arrived_ & 1) != 0; }
    [[nodiscard]] bool is_any_waiting() const noexcept { return arrived_ != 0; }

    /// The expected packet has been taken in.
    void advance() noexcept {
        arrived_ >>= 1;
        ++expected_;
    }

    [[nodiscard]] Sequence expected() const noexcept { return expected_; }
    /// PacketHeader::selective.
    [[nodiscard]] std::uint64_t arrived() const noexcept { return arrived_; }

  private:
    Sequence expected_;
    std::uint64_t arrived_ = 0; ///< bit i: expected_ + i
};

} // namespace verbena::reliable
