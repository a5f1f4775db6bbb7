/// @file
/// The wire backend on libibverbs: reliable connected (RC) queue pairs on InfiniBand, RoCE and Soft-RoCE.
#pragma once

#include "wire/backend.hpp"

namespace verbena::verbs {

/// Lives as long as the process. Thread-safe.
[[nodiscard]] const wire::Backend& verbs_backend();

} // namespace verbena::verbs
