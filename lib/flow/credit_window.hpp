/// @file
/// Receive credits between two ends, both directions. A value: no clock, no I/O, no allocation. One caller at a time.
///
/// A message may be sent only when the peer has a buffer posted for it, so receiver-not-ready cannot happen. Each end
/// posts `window` buffers for counted messages and one more for a *bare grant*, the message that carries nothing but
/// credits. Grants are cumulative counts modulo 2^16, so a repeated or late one is harmless. A *reply* takes no credit:
/// whoever asks for one keeps a buffer for it (msg::max_rendezvous), so replies flow while messages are held.
///
/// Rules
///   1. A counted message takes a credit. Every message, counted or not, carries the sender's grant so far and the
///      number of bare grants it has seen.
///   2. A buffer is posted again before it is granted.
///   3. A bare grant is sent only when the peer could run dry, when it brings at least one credit, and when the
///   previous
///      one has been seen. So one spare buffer is enough.
///
/// Why it cannot deadlock, for any window from 1: a peer without credits has had all its messages received, so there is
/// something to grant; and if an earlier bare grant is unseen, it is still on its way, and the message that spends what
/// it brings says that it was seen.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>

namespace verbena::flow {

/// What a message is to the credits.
enum class CreditKind : std::uint8_t { counted, reply, bare_grant };

/// What every message carries about credits.
struct CreditStamp {
    std::uint16_t granted = 0;         ///< counted messages its receiver may have sent in all, modulo 2^16
    std::uint8_t bare_grants_seen = 0; ///< modulo 2^8
};

class CreditWindow {
  public:
    static constexpr std::uint32_t max_window = 16384; ///< far below half of 2^16: cumulative counts stay unambiguous
    static constexpr std::uint32_t spare_buffers = 1;  ///< receive buffers posted beyond the window

    /// @param ours   messages the peer may have on the way to us
    /// @param theirs messages we may have on the way to the peer
    CreditWindow(std::uint32_t ours, std::uint32_t theirs) noexcept
        : window_(ours),
          limit_(static_cast<std::uint16_t>(theirs)),
          granted_(static_cast<std::uint16_t>(ours)),
          told_(granted_) {
        assert(ours > 0 && ours <= max_window && theirs > 0 && theirs <= max_window);
    }

    /// Counted messages that may be sent now.
    [[nodiscard]] std::uint32_t available() const noexcept { return static_cast<std::uint16_t>(limit_ - sent_); }

    /// Takes a credit for a counted message; needs available() > 0. The stamp goes into its header.
    CreditStamp send_counted() noexcept {
        assert(available() > 0);
        ++sent_;
        return stamp();
    }

    /// Takes no credit.
    CreditStamp send_reply() noexcept { return stamp(); }

    /// The peer could run dry and there is something to tell it that no message of ours has told.
    [[nodiscard]] bool wants_bare_grant() const noexcept {
        const auto peer_has = static_cast<std::uint16_t>(told_ - received_);
        return bare_sent_ == bare_acknowledged_ && granted_ != told_ && peer_has < std::max(window_ / 2, 1u);
    }

    /// Needs wants_bare_grant(). Takes no credit.
    CreditStamp send_bare_grant() noexcept {
        assert(wants_bare_grant());
        ++bare_sent_;
        return stamp();
    }

    /// The header of any arriving message.
    void receive(CreditStamp stamp, CreditKind kind) noexcept {
        const auto gained = static_cast<std::uint16_t>(stamp.granted - limit_);
        if (gained <= max_window) limit_ = stamp.granted; // else an older stamp
        bare_acknowledged_ = stamp.bare_grants_seen;
        if (kind == CreditKind::counted) ++received_;
        if (kind == CreditKind::bare_grant) ++bare_seen_;
    }

    /// The buffer of a counted message has been posted again.
    void reposted() noexcept { ++granted_; }

  private:
    CreditStamp stamp() noexcept {
        told_ = granted_;
        return {granted_, bare_seen_};
    }

    std::uint32_t window_;
    // As sender: counted messages allowed and sent, in all.
    std::uint16_t limit_;
    std::uint16_t sent_ = 0;
    // As receiver: granted in all, last told, received.
    std::uint16_t granted_;
    std::uint16_t told_;
    std::uint16_t received_ = 0;
    std::uint8_t bare_sent_ = 0;
    std::uint8_t bare_acknowledged_ = 0;
    std::uint8_t bare_seen_ = 0;
};

} // namespace verbena::flow
