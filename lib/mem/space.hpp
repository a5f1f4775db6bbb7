/// @file
/// The memory-kind seam: what the core needs to know and do about memory that is not plain host memory. The host space
/// is built in; a GPU plug-in (gpudirect/) brings the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <verbena/device.hpp>
#include <verbena/gpu_kernels.hpp>
#include <verbena/group.hpp>
#include <verbena/memory.hpp>

#include "mem/shared_memory.hpp"

namespace verbena::mem {

/// What a pointer turned out to be.
struct Classification {
    MemoryKind kind = MemoryKind::host;
    int gpu = -1;        ///< CUDA ordinal for device, managed and pinned memory; -1 for host
    std::string problem; ///< not empty: no operation may use it; one sentence with the call that would fix it
};

/// One kind of memory. Copies and reductions return when they are done. Thread-safe. Throws Error.
class Space {
  public:
    virtual ~Space() = default;

    [[nodiscard]] virtual MemoryKind kind() const noexcept = 0;
    /// The CPU may load and store there, and a NIC may reach it like host memory.
    [[nodiscard]] virtual bool is_host_accessible() const noexcept = 0;

    virtual std::byte* allocate(std::size_t bytes, int gpu) = 0; ///< @throws Error (exhausted)
    virtual void release(std::byte* memory) noexcept = 0;

    /// Any mix of this kind and host memory at either end.
    virtual void copy(std::byte* destination, const std::byte* source, std::size_t bytes) = 0;

    /// `output[i] = op(inputs[0][i], inputs[1][i], ...)`, 2 to 16 inputs of this kind, on its device; `output` may be
    /// one of the inputs. Only where !is_host_accessible(): the core reduces host-accessible memory itself.
    virtual void reduce(DataType type, ReduceOp op, std::byte* output, std::span<const std::byte* const> inputs,
                        std::size_t count) = 0;
    /// `values[i] /= divisor`, integers truncated toward zero. Only where !is_host_accessible().
    virtual void divide(DataType type, std::byte* values, std::size_t count, std::uint32_t divisor) = 0;
};

/// What a plug-in brings. One instance lives in the plug-in for the life of the process.
class Plugin {
  public:
    virtual ~Plugin() = default;
    [[nodiscard]] virtual std::vector<GpuInfo> gpus() const = 0;
    [[nodiscard]] virtual std::string describe() const = 0; ///< "CUDA 13.0, driver 580.159"
    [[nodiscard]] virtual Classification classify(const void* pointer) const = 0;
    [[nodiscard]] virtual Space& space(MemoryKind kind) = 0; ///< pinned, device, managed
    [[nodiscard]] virtual GpuKernels& kernels() = 0;

    /// What another process of this host needs to map `pointer`; nothing for memory that cannot be shared so. The
    /// memory must not be freed while others copy from it.
    [[nodiscard]] virtual std::optional<SharedMemory> share(const std::byte* pointer) = 0;
    /// From another process's memory to any memory of this one. Mappings are kept for the next time. @throws Error
    virtual void copy_shared(std::byte* destination, const SharedMemory& source, std::size_t bytes) = 0;
};

/// The symbol a plug-in exports: `extern "C" Plugin* verbena_memory_plugin(std::uint32_t abi, const char** why)`. It
/// answers null, with a reason, where no driver answers or `abi` is not its own.
using PluginEntry = Plugin* (*)(std::uint32_t abi, const char** why);
inline constexpr const char* plugin_entry_name = "verbena_memory_plugin";
inline constexpr std::uint32_t plugin_abi = 2;

struct PluginSearch;

/// The spaces of this process: host, and the plug-in's where one was loaded. Thread-safe after construction.
class Spaces {
  public:
    /// `gpu` is the setting: "auto" looks for the plug-in and goes on without it, "off" does not look, "required"
    /// throws Error (unavailable) with the reason.
    explicit Spaces(const std::string& gpu);
    Spaces(const std::string& gpu, const PluginSearch& search); ///< the same, looking elsewhere (mem/plugin.hpp)

    [[nodiscard]] Classification classify(const void* pointer) const;
    [[nodiscard]] Space& space(MemoryKind kind) const; ///< @throws Error (unavailable) with the reason
    [[nodiscard]] GpuKernels& kernels() const;         ///< likewise
    /// As the plug-in's; without one nothing is shared, and a copy is an Error.
    [[nodiscard]] std::optional<SharedMemory> share(const std::byte* pointer) const;
    void copy_shared(std::byte* destination, const SharedMemory& source, std::size_t bytes) const;
    [[nodiscard]] std::vector<GpuInfo> gpus() const;
    [[nodiscard]] const std::string& note() const noexcept { return note_; } ///< what was loaded, or why not
    [[nodiscard]] bool has_plugin() const noexcept { return plugin_ != nullptr; }

  private:
    Plugin* plugin_ = nullptr;
    std::string note_;
    std::string advice_; ///< what would bring the plug-in; empty where it is loaded
};

} // namespace verbena::mem
