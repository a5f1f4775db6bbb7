/// @file
/// Runs one scenario, on the simulated NIC or on a device that can be opened twice.
#pragma once

#include <verbena/lab.hpp>

#include "lab/bench.hpp"

namespace verbena::lab {

/// `open` is empty for the simulated NIC. @throws Error
[[nodiscard]] Report play(const Request& request, const OpenDevice& open);

} // namespace verbena::lab
