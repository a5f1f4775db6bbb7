/// @file
/// A CUDA stream for tests, and the kernels under test.
#pragma once

#include <stdexcept>

#include <cuda_runtime_api.h>

#include "gpu_fixture.hpp"

namespace verbena::test {

inline void must(cudaError_t result) {
    if (result != cudaSuccess) throw std::runtime_error(cudaGetErrorName(result));
}

class TestStream {
  public:
    TestStream() { must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
    ~TestStream() { cudaStreamDestroy(stream_); }
    TestStream(const TestStream&) = delete;
    TestStream& operator=(const TestStream&) = delete;

    [[nodiscard]] cudaStream_t get() const { return stream_; }
    [[nodiscard]] GpuStream on(int multiprocessors = 0) const { return {stream_, multiprocessors}; }
    void wait() const { must(cudaStreamSynchronize(stream_)); }

  private:
    cudaStream_t stream_ = nullptr;
};

[[nodiscard]] inline GpuKernels& kernels() { return spaces().kernels(); }

/// A value or a whole vector of them, to and from a buffer's bytes.
template <class T>
void put(const Buffer& buffer, std::size_t offset, const std::vector<T>& values) {
    if (!values.empty()) buffer.write(offset, std::as_bytes(std::span(values)));
}
template <class T>
std::vector<T> get(const Buffer& buffer, std::size_t offset, std::size_t count) {
    std::vector<T> values(count);
    if (count != 0) must(cudaMemcpy(values.data(), buffer.data() + offset, count * sizeof(T), cudaMemcpyDefault));
    return values;
}

} // namespace verbena::test
