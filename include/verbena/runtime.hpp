/// @file
/// One rank of a job: its device, its peers, its memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <verbena/device.hpp>
#include <verbena/endpoint.hpp>
#include <verbena/export.hpp>
#include <verbena/gpu_kernels.hpp>
#include <verbena/group.hpp>
#include <verbena/memory.hpp>
#include <verbena/settings.hpp>

namespace verbena {

/// One rank. Construction meets the other ranks at the store, agrees on a device, connects every pair, and throws Error
/// naming who is missing when the setting `connect-timeout` passes. Nothing moves unless its thread calls progress()
/// or waits. One caller at a time.
class VERBENA_API Runtime {
  public:
    explicit Runtime(const Settings& settings = Settings::from_environment());
    Runtime(Runtime&&) noexcept;
    Runtime& operator=(Runtime&&) noexcept;
    ~Runtime(); ///< as close()

    [[nodiscard]] std::uint32_t rank() const noexcept;
    [[nodiscard]] std::uint32_t size() const noexcept;
    [[nodiscard]] const Selection& selection() const noexcept; ///< the device in use, and why
    [[nodiscard]] const Settings& settings() const noexcept;

    [[nodiscard]] Group world() noexcept;
    /// @throws Error (invalid_argument) for a rank outside the job or for this rank itself.
    [[nodiscard]] Endpoint endpoint(std::uint32_t rank);

    /// Registers memory that the caller owns and keeps. Kind and device are found out from the pointer.
    /// @throws Error naming the limit, its value and the need when the system refuses.
    [[nodiscard]] MemoryRegion register_memory(std::span<std::byte> memory, Access access = Access::messages);
    /// Allocates and registers; freed with the region. `gpu` is the CUDA ordinal, for device and managed.
    [[nodiscard]] MemoryRegion allocate(std::size_t bytes, MemoryKind kind = MemoryKind::host, int gpu = 0,
                                        Access access = Access::messages);
    /// Copies between any two kinds of memory that this runtime knows; returns when done.
    void copy(void* destination, const void* source, std::size_t bytes);
    /// Kernels on GPU memory, for a program with a CUDA stream. Valid as long as the process.
    /// @throws Error (unavailable) with the reason where the CUDA plug-in is not loaded
    [[nodiscard]] GpuKernels& gpu_kernels();

    /// Out of band, for small set-up data: every rank gives a value, every rank gets all of them, by rank. Collective.
    [[nodiscard]] std::vector<std::string> exchange(std::string_view value);

    /// One step: polls the device, moves what can move. Returns the number of events handled.
    std::size_t progress();

    /// Leaves the job: waits at most the setting `close-timeout` for the others and for sends on their way, then
    /// releases everything. Calls after it start nothing: operations end with cancelled, the rest throws. Idempotent.
    void close() noexcept;

  private:
    std::unique_ptr<detail::RuntimeCore> core_;
};

} // namespace verbena
