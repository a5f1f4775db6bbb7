/// The plug-in's entry: the only symbol that it exports. Loaded by lib/mem once a CUDA driver has answered.
#include <fstream>

#include <fmt/format.h>

#include "classify.hpp"
#include "cuda_error.hpp"
#include "cuda_space.hpp"
#include "gpu.hpp"
#include "kernels.hpp"
#include "share.hpp"

namespace verbena::gpudirect {
namespace {

/// CUDA's version numbers are 1000 * major + 10 * minor.
std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

/// The version that nvidia-smi prints, "580.159.04"; empty where the kernel module's files cannot be seen.
std::string driver_release() {
    std::ifstream file("/sys/module/nvidia/version");
    std::string release;
    std::getline(file, release);
    return release;
}

class CudaPlugin final : public mem::Plugin {
  public:
    /// @throws Error where the driver is too old, or shows this process no GPU.
    CudaPlugin() {
        check(cuInit(0), [] { return "cuInit"; });
        check(cuDriverGetVersion(&driver_version_), [] { return "cuDriverGetVersion"; });
        // Within one major version any driver runs any runtime; across majors only a newer driver does.
        if (driver_version_ / 1000 < CUDART_VERSION / 1000) {
            throw Error(ErrorCode::unavailable,
                        fmt::format("the driver is for CUDA {}, this plug-in was built with CUDA {}",
                                    version_text(driver_version_), version_text(CUDART_VERSION)));
        }
        if (list_gpus().empty()) throw Error(ErrorCode::unavailable, "the driver shows this process no GPU");
    }

    [[nodiscard]] std::vector<GpuInfo> gpus() const override { return list_gpus(); }
    [[nodiscard]] std::string describe() const override {
        const std::string release = driver_release();
        return fmt::format("CUDA {}, driver {}{}for CUDA {}", version_text(CUDART_VERSION), release,
                           release.empty() ? "" : " ", version_text(driver_version_));
    }
    [[nodiscard]] mem::Classification classify(const void* pointer) const override {
        return gpudirect::classify(pointer);
    }
    [[nodiscard]] mem::Space& space(MemoryKind kind) override {
        switch (kind) {
        case MemoryKind::device:
            return device_;
        case MemoryKind::managed:
            return managed_;
        case MemoryKind::pinned:
            return pinned_;
        case MemoryKind::host:
            break;
        }
        throw Error(ErrorCode::internal, "the CUDA plug-in was asked for host memory, which the core has itself");
    }

    [[nodiscard]] GpuKernels& kernels() override { return kernels_; }
    [[nodiscard]] std::optional<mem::SharedMemory> share(const std::byte* pointer) override {
        return shared_.share(pointer);
    }
    void copy_shared(std::byte* destination, const mem::SharedMemory& source, std::size_t bytes) override {
        shared_.copy(destination, source, bytes);
    }

  private:
    int driver_version_ = 0;
    CudaKernels kernels_;
    SharedAllocations shared_;
    DeviceSpace device_;
    ManagedSpace managed_;
    PinnedSpace pinned_;
};

} // namespace
} // namespace verbena::gpudirect

/// @param why set where the answer is null; valid until the calling thread asks again.
extern "C" VERBENA_API verbena::mem::Plugin* verbena_memory_plugin(std::uint32_t abi, const char** why) {
    thread_local std::string reason;
    try {
        if (abi != verbena::mem::plugin_abi) {
            reason = fmt::format("it speaks plug-in ABI {}, the library {}", verbena::mem::plugin_abi, abi);
        } else {
            // Never destroyed: statics of the caller may still hold GPU memory when ours would go.
            static auto* const instance = new verbena::gpudirect::CudaPlugin;
            return instance;
        }
    } catch (const std::exception& error) {
        reason = error.what();
    } catch (...) {
        reason = "an unknown exception";
    }
    *why = reason.c_str();
    return nullptr;
}
