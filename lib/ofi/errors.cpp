#include "ofi/errors.hpp"

#include <fmt/format.h>
#include <rdma/fi_errno.h>

namespace verbena::ofi {
namespace {

ErrorCode code_of(int code) noexcept {
    switch (code) {
    case FI_ENOMEM:
    case FI_ENOSPC:
    case EMFILE:
    case ENFILE:
        return ErrorCode::exhausted;
    case FI_EINVAL:
        return ErrorCode::invalid_argument;
    case FI_EACCES:
    case FI_EPERM:
        return ErrorCode::refused;
    default:
        return ErrorCode::unavailable;
    }
}

} // namespace

bool is_peer_gone(int code) noexcept {
    switch (code) {
    case FI_EIO:
    case EPIPE:
    case FI_ECONNRESET:
    case FI_ECONNREFUSED:
    case FI_ECONNABORTED:
    case FI_ENOTCONN:
    case FI_ESHUTDOWN:
    case FI_ETIMEDOUT:
    case FI_EHOSTDOWN:
    case FI_EHOSTUNREACH:
    case FI_ENETDOWN:
    case FI_ENETUNREACH:
    case FI_ENODEV:
        return true;
    default:
        return false;
    }
}

wire::CompletionStatus status_of(int code) noexcept {
    using wire::CompletionStatus;
    if (is_peer_gone(code)) return CompletionStatus::retry_exceeded;
    switch (code) {
    case FI_SUCCESS:
        return CompletionStatus::success;
    case FI_ETRUNC:
    case FI_EMSGSIZE:
        return CompletionStatus::local_length_error;
    case FI_ECANCELED:
        return CompletionStatus::flushed;
    case FI_EACCES:
    case FI_EPERM:
    case FI_ENOKEY:
    case FI_EKEYREJECTED:
        return CompletionStatus::remote_access_error;
    case FI_EFAULT:
        return CompletionStatus::local_protection_error;
    case FI_EINVAL:
        return CompletionStatus::remote_invalid_request;
    case FI_EREMOTEIO:
        return CompletionStatus::remote_operation_error;
    case FI_ENORX:
        return CompletionStatus::rnr_retry_exceeded;
    default:
        return CompletionStatus::general_error;
    }
}

Cause cause_of(int code, int provider_code) noexcept {
    return {Origin::libfabric, code, static_cast<std::uint32_t>(provider_code)};
}

void throw_error(const char* call, const std::string& subject, long result, const std::string& advice) {
    const int code = static_cast<int>(-result);
    throw Error(code_of(code), fmt::format("{} on {}: {}", call, subject, fi_strerror(code)), advice, cause_of(code));
}

} // namespace verbena::ofi
