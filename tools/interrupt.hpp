/// @file
/// SIGINT and SIGTERM: ask a measurement to stop; where nothing asks, end the process at once.
#pragma once

namespace verbena::tools {

/// Thrown where an interrupted measurement stops.
struct Interrupted {
    int signal = 0;
};

/// Installs the handlers. Until an Interruptible exists, and at a second signal, the process ends with 128 + signal:
/// meeting the other ranks blocks inside the library, and the peers are told by the store that we are gone.
void install_interrupt_handlers();

/// While one is alive the first signal only sets a flag. One at a time.
class Interruptible {
  public:
    Interruptible() noexcept;
    ~Interruptible();
    Interruptible(const Interruptible&) = delete;
    Interruptible& operator=(const Interruptible&) = delete;
};

/// The signal that arrived, 0 for none. A relaxed load: cheap enough for every iteration.
[[nodiscard]] int pending_interrupt() noexcept;

inline void throw_if_interrupted() {
    if (const int signal = pending_interrupt(); signal != 0) [[unlikely]]
        throw Interrupted{signal};
}

} // namespace verbena::tools
