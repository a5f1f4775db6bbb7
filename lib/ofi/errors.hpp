/// @file
/// What libfabric's codes mean in the vocabulary of lib/wire.
#pragma once

#include <string>

#include "wire/types.hpp"

namespace verbena::ofi {

/// @param code positive fi_errno of a completion in error.
[[nodiscard]] wire::CompletionStatus status_of(int code) noexcept;

/// The peer, or the way to it, does not answer: a fault of no request, and no reason to refuse one.
[[nodiscard]] bool is_peer_gone(int code) noexcept;

[[nodiscard]] Cause cause_of(int code, int provider_code = 0) noexcept;

/// @param result negative fi_errno that `call` returned. @param subject what it was called on, "tcp;ofi_rxm 192.0.2.2".
/// @throws Error "fi_endpoint on <subject>: FI_ENOMEM (Cannot allocate memory)"
[[noreturn]] void throw_error(const char* call, const std::string& subject, long result,
                              const std::string& advice = {});

/// throw_error() unless `result` is 0.
inline void check(const char* call, const std::string& subject, long result) {
    if (result != 0) throw_error(call, subject, result);
}

} // namespace verbena::ofi
