#pragma once

#include "wire/backend.hpp"

namespace verbena::ofi {

/// The backend on libfabric: reliable datagram endpoints of whatever provider is here. Thread-safe.
[[nodiscard]] const wire::Backend& ofi_backend();

} // namespace verbena::ofi
