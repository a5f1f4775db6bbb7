/// @file
/// What a kernel is handed is asked for first: a kernel that touches memory of another GPU or of the host faults, and
/// the fault costs the process its context.
#pragma once

#include <cstdint>

#include "mem/space.hpp"

namespace verbena::gpudirect {

/// One call's pointers: each must be device or managed memory, all that is device memory of one GPU.
class Pointers {
  public:
    /// @param call  begins the sentences of the errors: "reduce"
    explicit Pointers(const char* call) noexcept : call_(call) {}

    /// Both ends of `bytes` bytes, where they can be of different allocations. `kind`, where given, must be met.
    /// @throws Error (invalid_argument) that names `what`, the pointer and its kind
    void add(const char* what, const void* pointer, std::size_t bytes, const MemoryKind* kind = nullptr);

    [[nodiscard]] int gpu() const noexcept { return gpu_; } ///< -1 before the first

  private:
    void check(const char* what, const void* pointer, const MemoryKind* kind);

    const char* call_;
    int gpu_ = -1;
    bool is_device_ = false; ///< gpu_ is that of device memory, not only where managed memory prefers to be
};

} // namespace verbena::gpudirect
