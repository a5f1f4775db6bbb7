/// @file
/// CUDA's error codes as verbena's.
#pragma once

#include <string>

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <verbena/error.hpp>

namespace verbena::gpudirect {

/// Throws what `result` means, or returns where it is success. `tried` names the call with sizes and device. Clears the
/// runtime's last error, so that the next launch check does not see this one again.
void check(cudaError_t result, const std::string& tried);
void check(CUresult result, const std::string& tried);

/// Such a failure, with a next step of the caller's own.
[[nodiscard]] Error error_of(cudaError_t result, const std::string& tried, const std::string& advice);

} // namespace verbena::gpudirect
