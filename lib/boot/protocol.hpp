/// @file
/// The store's wire format, version 1. Integers are little-endian.
///
/// A connection opens in the clear with four messages of fixed size; nothing longer is read before the secret is
/// proven:
///
///     1. client -> store  Hello         magic "VRBN", u16 version, u16 answer (0), nonce[32]           40 bytes
///     2. store -> client  Hello         magic "VRBN", u16 version, u16 Answer,  nonce[32]              40 bytes
///     3. client -> store  proof[32] = H(K, "client proof" || 1 || 2)                                   32 bytes
///     4. store -> client  u32 Answer, proof[32] = H(K, "store proof " || 1 || 2)                       36 bytes
///
/// K is a hash of the job's secret, H is BLAKE2b keyed with K. The first 8 bytes of messages 1 and 2 keep their meaning
/// in every version, so that two versions can tell each other apart; an Answer other than `accepted` ends the
/// connection.
///
/// Then records: u32 length of what follows (at most max_record_bytes), XSalsa20-Poly1305 box of one message. Each
/// direction has its own key, H(K, "to the store" || 1 || 2) and H(K, "to a client " || 1 || 2), and numbers its
/// records from 0: the number is the box's nonce and is not sent, so a record that was altered, repeated, left out or
/// reordered does not open. Both nonces are random, so no key serves two connections.
///
/// A message is its Type in one byte, then the fields of its struct below in order: integers at their width, strings
/// and byte values as u32 length and bytes, optionals as u8 and the value where it is 1, lists as u32 count and items.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace verbena::boot {

inline constexpr std::uint16_t protocol_version = 1;
inline constexpr std::string_view protocol_magic = "VRBN";

inline constexpr std::size_t hello_bytes = 40;
inline constexpr std::size_t hello_head_bytes = 8; ///< magic, version, answer: the same in every version
inline constexpr std::size_t proof_bytes = 32;
inline constexpr std::size_t verdict_bytes = 36;

inline constexpr std::size_t max_name_bytes = 1024;                     ///< of a key, an exchange's name, a host name
inline constexpr std::size_t max_value_bytes = 1 << 20;                 ///< of one value
inline constexpr std::size_t max_record_bytes = (1 << 20) + (64 << 10); ///< a largest value and what is around it
inline constexpr std::size_t max_join_record_bytes = 2048;              ///< until a rank has joined

inline constexpr std::size_t max_missing_listed = 64;

/// How the store answers in the clear.
enum class Answer : std::uint16_t { accepted = 0, other_version = 1, wrong_secret = 2 };

/// How the store answers to a Join.
enum class Admission : std::uint8_t {
    admitted = 0,
    other_size = 1,   ///< the store expects another number of ranks
    rank_range = 2,   ///< rank >= size
    rank_taken = 3,   ///< a living process has this rank
    rank_is_over = 4, ///< the rank left or was lost, and the others have not gone yet: try again later
};

/// client -> store, first: who I am.
struct Join {
    std::uint32_t rank = 0;
    std::uint32_t size = 0;
    std::string host;
};
struct Put {
    std::string key;
    std::string value;
};
/// Answered by Value with the same `request` once the key has a value.
struct Get {
    std::uint64_t request = 0;
    std::string key;
};
/// This rank's part of round `round` of the exchange `name`. Repeating it is harmless.
struct Contribute {
    std::string name;
    std::uint64_t round = 0;
    std::string value;
};
/// Answered by Missing: who has not contributed.
struct AskMissing {
    std::string name;
    std::uint64_t round = 0;
};
struct Leave {};

/// store -> client, first: the answer to Join.
struct Welcome {
    Admission admission = Admission::admitted;
    std::uint32_t size = 0;
    std::optional<std::uint32_t> store_rank; ///< rank whose process hosts the store, where one does
    std::string holder;                      ///< host of the process that has the rank already
};
struct Value {
    std::uint64_t request = 0;
    std::string value;
};
/// The values of ranks first_rank, first_rank + 1, ...; the part that ends with the last rank ends the exchange.
struct Gathered {
    std::string name;
    std::uint64_t round = 0;
    std::uint32_t first_rank = 0;
    std::vector<std::string> values;
};
struct MissingRank {
    std::uint32_t rank = 0;
    std::string host; ///< empty: it never joined
};
struct Missing {
    std::string name;
    std::uint64_t round = 0;
    std::uint32_t total = 0;
    std::vector<MissingRank> ranks; ///< the first max_missing_listed of them
};
/// The exchange cannot end: this rank left before it contributed.
struct Unfinishable {
    std::string name;
    std::uint64_t round = 0;
    MissingRank who;
};
/// A rank's process, or the path to it, is gone.
/// A rank has left in good order: whoever still waits for it waits in vain.
struct RankLeft {
    std::uint32_t rank = 0;
};

struct RankLost {
    std::uint32_t rank = 0;
    std::string reason;
};
/// The store ends in good order.
struct Closing {};

/// The alternative's index is the message's Type byte: append only.
using Message = std::variant<Join, Put, Get, Contribute, AskMissing, Leave, Welcome, Value, Gathered, Missing,
                             Unfinishable, RankLost, Closing, RankLeft>;

[[nodiscard]] std::string encode(const Message& message);
/// Any bytes give a message or an Error (protocol_violation); trailing bytes are a violation.
[[nodiscard]] Message decode(std::string_view bytes);

using HelloBytes = std::array<unsigned char, hello_bytes>;
using Nonce = std::array<unsigned char, 32>;

[[nodiscard]] HelloBytes make_hello(Answer answer, const Nonce& nonce);
/// What the first 8 bytes of a hello say; empty: no verbena store or client wrote them.
struct HelloHead {
    std::uint16_t version = 0;
    Answer answer = Answer::accepted;
};
[[nodiscard]] std::optional<HelloHead> read_hello_head(const unsigned char* bytes);

} // namespace verbena::boot
