/// @file
/// What keeps strangers out of the store: proofs of the shared secret and boxes around every message. The scheme is
/// written down in protocol.hpp. Values, no I/O. One caller at a time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "boot/protocol.hpp"

namespace verbena::boot {

/// 32 secret bytes, wiped when they go.
class Key {
  public:
    Key() noexcept = default;
    Key(const Key&) noexcept = default;
    Key& operator=(const Key&) noexcept = default;
    ~Key();

    std::array<unsigned char, 32> bytes{};
};

enum class Role : std::uint8_t { client, store };

/// K of protocol.hpp. @throws Error (invalid_argument) for an empty secret.
[[nodiscard]] Key key_from(std::string_view secret);
[[nodiscard]] Nonce random_nonce();

using Proof = std::array<unsigned char, proof_bytes>;

/// Both hellos of one connection and the key, from which everything else follows.
class Session {
  public:
    Session(const Key& key, const HelloBytes& client, const HelloBytes& store) noexcept
        : key_(key), client_(client), store_(store) {}

    [[nodiscard]] Proof proof(Role by) const;
    /// In constant time.
    [[nodiscard]] bool is_proof(Role by, const unsigned char* proof) const;
    [[nodiscard]] Key record_key(Role sender) const;

  private:
    void hash(std::string_view label, unsigned char* out) const;

    Key key_;
    HelloBytes client_;
    HelloBytes store_;
};

/// Boxes the messages of one direction, in order.
class Sealer {
  public:
    explicit Sealer(const Key& key) noexcept : key_(key) {}
    /// Appends the record to `out`.
    void seal(std::string_view message, std::string& out);

  private:
    Key key_;
    std::uint64_t number_ = 0;
};

/// Opens the records of one direction, in order, from bytes as they arrive.
class Opener {
  public:
    explicit Opener(const Key& key, std::size_t limit = max_record_bytes) noexcept : key_(key), limit_(limit) {}
    void set_limit(std::size_t bytes) noexcept { limit_ = bytes; }

    void add(std::string_view bytes) { buffer_.append(bytes); }
    /// The next whole message, empty while it has not arrived.
    /// @throws Error (protocol_violation) for a length over the limit, (refused) for a box that does not open.
    [[nodiscard]] std::optional<std::string> next();

  private:
    Key key_;
    std::size_t limit_;
    std::uint64_t number_ = 0;
    std::string buffer_;
    std::size_t begin_ = 0; ///< of what has not been taken from buffer_
};

} // namespace verbena::boot
