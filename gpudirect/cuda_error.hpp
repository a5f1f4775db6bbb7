/// @file
/// CUDA's error codes as verbena's.
#pragma once

#include <concepts>
#include <string>

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <verbena/error.hpp>

namespace verbena::gpudirect {

/// What a failure means. `tried` names the call with sizes and device; `advice` empty: that of the code. Clears the
/// runtime's last error, so that the next launch check does not see this one again.
[[nodiscard]] Error error_of(cudaError_t result, const std::string& tried, const std::string& advice = {});
[[nodiscard]] Error error_of(CUresult result, const std::string& tried, const std::string& advice = {});

/// `call` "on cuda:N", for what follows.
[[nodiscard]] std::string on_gpu(const char* call, int gpu);

/// Throws error_of() unless `result` is success. `tried` is called only then: success formats and allocates nothing.
template <class Result, std::invocable Tried>
void check(Result result, Tried tried) {
    if (result != Result{}) throw error_of(result, tried());
}
template <class Result>
void check(Result result, const char* call, int gpu) {
    check(result, [=] { return on_gpu(call, gpu); });
}

} // namespace verbena::gpudirect
