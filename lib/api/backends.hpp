#pragma once

namespace verbena {

/// Fills the registry of lib/wire with this build's backends, once. Thread-safe.
void register_backends();

} // namespace verbena
