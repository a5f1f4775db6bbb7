#include "wire/queue_pair.hpp"

namespace verbena::wire {

std::string_view name(QueuePairState state) noexcept {
    switch (state) {
    case QueuePairState::reset:
        return "RESET";
    case QueuePairState::init:
        return "INIT";
    case QueuePairState::rtr:
        return "RTR";
    case QueuePairState::rts:
        return "RTS";
    case QueuePairState::sqd:
        return "SQD";
    case QueuePairState::sqe:
        return "SQE";
    case QueuePairState::err:
        return "ERR";
    case QueuePairState::ready:
        return "ready";
    }
    return "unknown";
}

} // namespace verbena::wire
