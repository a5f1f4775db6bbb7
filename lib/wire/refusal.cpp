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

int errno_of(Refusal refusal) noexcept {
    switch (refusal) {
    case Refusal::none:
        return 0;
    case Refusal::queue_full:
        return ENOMEM;
    case Refusal::queue_broken:
        return ENOTCONN;
    case Refusal::too_many_sges:
    case Refusal::inline_too_long:
    case Refusal::invalid:
        return EINVAL;
    }
    return EINVAL;
}

} // namespace verbena::wire
