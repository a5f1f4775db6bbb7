/// @file
/// Errno values of set-up calls as Errors: which limit stands behind them, its value and the need, where to raise it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <verbena/error.hpp>

namespace verbena::verbs {

/// Positive errno, whatever its sign was.
[[nodiscard]] Cause errno_cause(int code) noexcept;
[[nodiscard]] ErrorCode error_code_of(int positive_errno) noexcept;

/// "<what>: ENOMEM (Cannot allocate memory); RLIMIT_MEMLOCK is 65536 bytes, ...". `pinned_bytes`: memory that the call
/// would have pinned. Reads /proc; set-up path only.
[[nodiscard]] Error errno_error(int code, const std::string& what, std::uint64_t pinned_bytes = 0);

/// A limit of this process and how much of it is taken.
struct Limit {
    std::optional<std::uint64_t> limit; ///< none: unlimited
    std::uint64_t used = 0;
};

/// What stands behind an errno, and what to do about it.
struct Explanation {
    std::string fact;
    std::string advice;
};

/// Empty where RLIMIT_MEMLOCK leaves room for `needed` bytes.
[[nodiscard]] Explanation memlock_shortage(const Limit& memlock, std::uint64_t needed);

} // namespace verbena::verbs
