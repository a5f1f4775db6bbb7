/// @file
/// The wire header of every message, version 1: 32 bytes, little-endian, fixed layout (docs/wire-format.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "flow/credit_window.hpp"
#include "mem/shared_memory.hpp"

namespace verbena::msg {

enum class MessageKind : std::uint8_t {
    eager = 1,      ///< the message itself follows
    rendezvous = 2, ///< a RendezvousBody follows: fetch the message by RDMA READ, then send `finished`
    finished = 3,   ///< the message named by `operation` was fetched; takes no credit
    probe = 4,      ///< asks for nothing: its acknowledgement proves that all before it arrived
    bare_grant = 5, ///< carries only credits and takes none
    request = 16,   ///< a RequestBody follows, then the bytes of a put: the receiver's engine carries it out
    answer = 17,    ///< the answer to the request of `operation`; takes no credit
};

struct Header {
    static constexpr std::uint8_t current_version = 1;

    std::uint8_t version = current_version;
    MessageKind kind{};
    std::uint16_t context = 0;
    std::uint32_t source = 0; ///< rank of the sender
    std::uint64_t tag = 0;
    std::uint64_t length = 0;    ///< bytes of the message; of `finished`: bytes fetched
    std::uint32_t operation = 0; ///< names the sending operation, opaque to the receiver (rendezvous, finished, answer)
    std::uint16_t granted = 0;   ///< flow::CreditStamp
    std::uint8_t bare_grants_seen = 0;
    std::uint8_t status = 0; ///< ErrorCode; not ok in `rendezvous`: there is nothing to fetch; in `finished`: it failed
};
static_assert(sizeof(Header) == 32 && offsetof(Header, tag) == 8 && offsetof(Header, operation) == 24);

/// Follows a rendezvous header: where the message lies.
struct RendezvousBody {
    std::uint64_t address = 0;
    std::uint64_t rkey = 0;
};
static_assert(sizeof(RendezvousBody) == 16);

/// What a rendezvous offers. GPU memory that the receiver can map itself follows the body, which is then all zero: it
/// is copied from there, with no READ.
struct RendezvousOffer {
    RendezvousBody body{};
    std::optional<mem::SharedMemory> shared;
};
inline constexpr std::size_t longest_offer = sizeof(RendezvousBody) + sizeof(mem::SharedMemory);

/// What one rank asks of another's engine where the wire lacks the operation itself.
enum class RequestKind : std::uint8_t {
    put = 1,              ///< store the bytes that follow; answered by the next `sync`
    signal = 2,           ///< store `operand` as one 64-bit word, after all that came before; answered likewise
    get = 3,              ///< answer with `length` bytes
    fetch_add = 4,        ///< add `operand`; answer with the value before
    compare_and_swap = 5, ///< store `operand` where the value is `compare`; answer with the value before
    swap = 6,             ///< store `operand`; answer with the value before
    sync = 7,             ///< answer, with the first failure of a put or signal since the last `sync`
};

/// Follows a request header. Requests of one peer are carried out in the order in which they arrive.
struct RequestBody {
    RequestKind kind{};
    std::uint8_t reserved[3]{};
    std::uint32_t length = 0; ///< get: bytes wanted
    std::uint64_t handle = 0; ///< RemoteRegion::Fields::handle
    std::uint64_t offset = 0; ///< in that region
    std::uint64_t operand = 0;
    std::uint64_t compare = 0;
};
static_assert(sizeof(RequestBody) == 40 && offsetof(RequestBody, handle) == 8);

inline constexpr std::size_t header_bytes = sizeof(Header);

/// Rendezvous messages, and requests that want an answer, that may be on their way to one peer. For each there is a
/// receive buffer for its `finished` or `answer`, so that this reply needs no credit: credits may be withheld for as
/// long as nobody asks for early messages.
inline constexpr std::uint32_t max_rendezvous = 16;

/// Reads a message's header. Nothing for bytes that no verbena of this version sends: too short, another version, an
/// unknown kind or status, a length that disagrees with the bytes that arrived.
[[nodiscard]] std::optional<Header> parse_header(std::span<const std::byte> message) noexcept;

/// Needs a message whose parsed kind is rendezvous.
[[nodiscard]] RendezvousOffer rendezvous_offer(std::span<const std::byte> message) noexcept;

/// Needs a message whose parsed kind is request; its `kind` is one of those above.
[[nodiscard]] RequestBody request_body(std::span<const std::byte> message) noexcept;

} // namespace verbena::msg
