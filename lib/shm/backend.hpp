#pragma once

#include "wire/backend.hpp"

namespace verbena::shm {

/// The backend on shared memory: one device, "shm", for processes of this host. Thread-safe.
[[nodiscard]] const wire::Backend& shm_backend();

} // namespace verbena::shm
