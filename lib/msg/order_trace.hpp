/// @file
/// Who wants to know in which order one-sided operations were posted and ended. Called on the hot path where it is set.
#pragma once

#include <cstdint>

#include "msg/header.hpp"
#include "order/hazard_tracker.hpp"

namespace verbena::msg {

class OrderTrace {
  public:
    virtual ~OrderTrace() = default;
    /// The first of it is posted. `operation` grows with the program's order; `fenced`: with the fence flag.
    virtual void posted(std::uint64_t operation, RequestKind kind, const order::Touch& touch, bool fenced) = 0;
    /// Nothing of it is unfinished, here or at the peer, that a later operation could meet.
    virtual void done(std::uint64_t operation) = 0;
};

} // namespace verbena::msg
