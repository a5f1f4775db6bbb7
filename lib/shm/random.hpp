#pragma once

#include <cstdint>

namespace verbena::shm {

/// From the kernel, in blocks: a registration pays a system call once in so many. @throws Error (unavailable)
[[nodiscard]] std::uint64_t random_number();

} // namespace verbena::shm
