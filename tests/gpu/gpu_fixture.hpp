/// @file
/// What the GPU tests share. Where they look into GPU memory they use a CUDA runtime of their own, not the code under
/// test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <dlfcn.h>

#include "mem/space.hpp"

namespace verbena::test {

[[nodiscard]] unsigned seed(); ///< of this run
[[nodiscard]] mem::Spaces& spaces();

/// Memory of a kind on GPU 0, for the life of this object. All of it is 0xa5 at first.
class Buffer {
  public:
    Buffer(MemoryKind kind, std::size_t bytes);
    ~Buffer();
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    [[nodiscard]] std::byte* data() const { return data_; }
    void write(std::size_t offset, std::span<const std::byte> bytes) const;
    [[nodiscard]] std::vector<std::byte> read() const;

  private:
    mem::Space& space_;
    std::byte* data_;
    std::size_t bytes_;
};

[[nodiscard]] std::vector<std::byte> random_bytes(std::size_t bytes, std::uint64_t stream);

/// A function of the driver, which this program is not linked to.
template <class Function>
Function driver_function(const char* name) {
    return reinterpret_cast<Function>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), name));
}

} // namespace verbena::test
