#pragma once

#include <string>

namespace verbena {

/// Equal in two processes exactly when they can share memory: same kernel boot, same /dev/shm, same process ids (a shm
/// provider copies by process id). Containers of one host differ where they should.
[[nodiscard]] std::string host_identity();

} // namespace verbena
