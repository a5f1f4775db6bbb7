#pragma once

#include "mem/space.hpp"

namespace verbena::gpudirect {

/// Asks the driver about one address, base or interior. Makes no context. Thread-safe; no allocation for memory that
/// can be used, and no system call for host pages that were seen before.
[[nodiscard]] mem::Classification classify(const void* pointer);

} // namespace verbena::gpudirect
