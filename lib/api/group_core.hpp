/// @file
/// One group as its Runtime keeps it. Progress-thread only.
#pragma once

#include <cstdint>
#include <memory>

#include "coll/collectives.hpp"

namespace verbena::detail {

struct RuntimeCore;

/// Shared by the copies of a Group, and by the Runtime, which takes the inside away when it closes.
struct GroupCore {
    RuntimeCore* runtime = nullptr;
    std::unique_ptr<coll::Collectives> collectives; ///< none once the runtime is closed
    coll::Members members;
    std::uint32_t shrinks = 0; ///< how often it has been shrunk
};

/// A new group of the runtime, with a context that is free on all of its ranks. @throws Error (exhausted)
std::shared_ptr<GroupCore> add_group(RuntimeCore& core, coll::Members members, msg::Context context);

} // namespace verbena::detail
