/// @file
/// A hash over the bytes of a file as they pass (BLAKE2b, 256 bits).
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <sodium.h>

namespace verbena::tools {

class FileHash {
  public:
    FileHash() { crypto_generichash_init(&state_, nullptr, 0, crypto_generichash_BYTES); }
    void add(std::span<const std::byte> bytes) {
        crypto_generichash_update(&state_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    }
    /// In hexadecimal; ends the hash.
    [[nodiscard]] std::string text() {
        unsigned char hash[crypto_generichash_BYTES];
        crypto_generichash_final(&state_, hash, sizeof hash);
        char hexadecimal[2 * sizeof hash + 1];
        return sodium_bin2hex(hexadecimal, sizeof hexadecimal, hash, sizeof hash);
    }

  private:
    crypto_generichash_state state_{};
};

} // namespace verbena::tools
