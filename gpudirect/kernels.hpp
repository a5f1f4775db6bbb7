#pragma once

#include <verbena/gpu_kernels.hpp>

namespace verbena::gpudirect {

/// The kernels on the caller's stream. No state: thread-safe.
class CudaKernels final : public GpuKernels {
  public:
    void reduce(const GpuReduction& reduction, const GpuStream& stream) override;
    void quantise(const GpuQuantisation& quantisation, const GpuStream& stream) override;
    void dequantise(const GpuQuantisation& quantisation, const GpuStream& stream) override;
    void pack(const GpuRows& rows, const GpuStream& stream) override;
    void unpack(const GpuRows& rows, const GpuStream& stream) override;
    void combine(const GpuCombination& combination, const GpuStream& stream) override;
};

} // namespace verbena::gpudirect
