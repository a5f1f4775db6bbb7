/// @file
/// The store's side of messages 1 to 4 of protocol.hpp. Whatever a stranger sends, it costs `space()` bytes and nothing
/// else. A value: bytes in, bytes out. One caller at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "boot/crypto.hpp"

namespace verbena::boot {

class StoreHandshake {
  public:
    enum class Verdict : std::uint8_t {
        more,        ///< goes on with the next bytes
        refused,     ///< say `reply`, if any, and close
        established, ///< the secret is proven: records follow
    };

    explicit StoreHandshake(const Key& key) noexcept : key_(key) {}

    /// Where the next bytes go; never past the end of the message that is awaited.
    [[nodiscard]] std::span<unsigned char> space() noexcept {
        return std::span(buffer_).first(wanted_).subspan(filled_);
    }
    /// `count` bytes were put into space(); appends to `reply` what must be sent.
    [[nodiscard]] Verdict advance(std::size_t count, std::string& reply);
    /// Only once established.
    [[nodiscard]] const Session& session() const { return *session_; }

  private:
    enum class Stage : std::uint8_t { head, hello, proof };

    Verdict read_head(std::string& reply);
    Verdict read_hello(std::string& reply);
    Verdict read_proof(std::string& reply);

    Key key_;
    Stage stage_ = Stage::head;
    std::size_t filled_ = 0;
    std::size_t wanted_ = hello_head_bytes;
    HelloBytes buffer_{};
    std::optional<Session> session_;
};

/// Message 4.
[[nodiscard]] std::string make_verdict(Answer answer, const Proof& proof);

} // namespace verbena::boot
