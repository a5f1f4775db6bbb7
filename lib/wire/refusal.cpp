#include "wire/refusal.hpp"

#include <cerrno>

namespace verbena::wire {

int post_errno(int result, int system_errno) noexcept {
    if (result == -1) return system_errno > 0 ? system_errno : EPERM;
    return result < 0 ? -result : result;
}

Refusal refusal_of(int positive_errno) noexcept {
    switch (positive_errno) {
    case 0:
        return Refusal::none;
    case ENOMEM:
    case ENOSPC:
    case EAGAIN:
        return Refusal::queue_full;
    case ENODEV:
    case EIO:
    case ENOTCONN:
        return Refusal::queue_broken;
    default:
        return Refusal::invalid;
    }
}

} // namespace verbena::wire
