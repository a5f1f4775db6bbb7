#include "cuda_error.hpp"

#include <fmt/format.h>

namespace verbena::gpudirect {
namespace {

struct Meaning {
    ErrorCode code;
    const char* advice;
};

/// Driver and runtime share these numbers (driver_types.h), so one table serves both.
Meaning meaning_of(int result) {
    switch (result) {
    case cudaErrorMemoryAllocation:
        return {ErrorCode::exhausted, "ask for less, or see with nvidia-smi which process holds the memory"};
    case cudaErrorInvalidValue:
    case cudaErrorInvalidDevice:
        return {ErrorCode::invalid_argument,
                "check that the pointers are alive and the sizes lie within their allocations"};
    case cudaErrorNoDevice:
    case cudaErrorSystemNotReady:
    case cudaErrorDevicesUnavailable:
        return {ErrorCode::unavailable,
                "run nvidia-smi; check CUDA_VISIBLE_DEVICES and that the GPU is not in exclusive use"};
    case cudaErrorInsufficientDriver:
    case cudaErrorSystemDriverMismatch:
        return {ErrorCode::unavailable, "update the NVIDIA driver"};
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
        return {ErrorCode::unavailable,
                "build the plug-in for this GPU, or update the NVIDIA driver so that it accepts its PTX"};
    default:
        // Most of the others stay: every later call on this context fails as well.
        return {ErrorCode::device_failed,
                "restart the process; dmesg shows an Xid for a fault of the GPU, compute-sanitizer "
                "finds a bad access by a kernel"};
    }
}

Error make(int result, const char* spelled, const std::string& tried, const std::string& advice) {
    const Meaning meaning = meaning_of(result);
    return Error(meaning.code, fmt::format("{}: {} ({})", tried, spelled, result),
                 advice.empty() ? meaning.advice : advice, {Origin::cuda, result, 0});
}

} // namespace

std::string on_gpu(const char* call, int gpu) { return fmt::format("{} on cuda:{}", call, gpu); }

Error error_of(cudaError_t result, const std::string& tried, const std::string& advice) {
    cudaGetLastError();
    return make(result, cudaGetErrorName(result), tried, advice);
}

Error error_of(CUresult result, const std::string& tried, const std::string& advice) {
    const char* spelled = "unknown CUresult";
    cuGetErrorName(result, &spelled);
    return make(result, spelled, tried, advice);
}

} // namespace verbena::gpudirect
