/// @file
/// What ranks of a group tell each other beside its messages, when something is wrong: docs/wire-format.md. Values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "coll/inquiry.hpp"

namespace verbena::coll {

/// About one call. A statement asks every other rank for its own; `over` ends the group with a finding.
struct Notice {
    enum class Kind : std::uint8_t { statement = 1, over = 2 };

    Kind kind = Kind::statement;
    std::uint32_t sequence = 0;
    Statement statement{};
    Status status{}; ///< of `over`; its source is a rank of the job
    std::string sentence;
};

inline constexpr std::size_t max_sentence_bytes = 480;
inline constexpr std::size_t notice_bytes = 64; ///< ahead of the sentence
inline constexpr std::size_t max_notice_bytes = notice_bytes + max_sentence_bytes;

[[nodiscard]] std::vector<std::byte> encode(const Notice& notice);
/// Nothing for bytes that no verbena of this version sends.
[[nodiscard]] std::optional<Notice> decode_notice(std::span<const std::byte> bytes);

} // namespace verbena::coll
