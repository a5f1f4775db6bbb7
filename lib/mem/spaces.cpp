#include <fmt/format.h>

#include <verbena/error.hpp>

#include "mem/host_space.hpp"
#include "mem/plugin.hpp"

namespace verbena::mem {
namespace {

Space& host_space() {
    static HostSpace instance;
    return instance;
}

} // namespace

Spaces::Spaces(const std::string& gpu) : Spaces(gpu, default_search()) {}

Spaces::Spaces(const std::string& gpu, const PluginSearch& search) {
    if (gpu == "off") {
        note_ = "gpu=off: no CUDA driver was looked for";
        advice_ = "set gpu=auto";
        return;
    }
    LoadedPlugin loaded = load_plugin(search);
    if (gpu == "required" && loaded.plugin == nullptr) {
        throw Error(ErrorCode::unavailable, "gpu=required: " + loaded.note, loaded.advice);
    }
    plugin_ = loaded.plugin;
    note_ = std::move(loaded.note);
    advice_ = std::move(loaded.advice);
}

Classification Spaces::classify(const void* pointer) const {
    return plugin_ != nullptr ? plugin_->classify(pointer) : Classification{};
}

Space& Spaces::space(MemoryKind kind) const {
    if (kind == MemoryKind::host) return host_space();
    if (plugin_ == nullptr) {
        throw Error(ErrorCode::unavailable, fmt::format("{} memory needs the CUDA plug-in: {}", name(kind), note_),
                    advice_);
    }
    return plugin_->space(kind);
}

GpuKernels& Spaces::kernels() const {
    if (plugin_ == nullptr)
        throw Error(ErrorCode::unavailable, "kernels on a GPU need the CUDA plug-in: " + note_, advice_);
    return plugin_->kernels();
}

std::optional<SharedMemory> Spaces::share(const std::byte* pointer) const {
    return plugin_ != nullptr ? plugin_->share(pointer) : std::nullopt;
}

void Spaces::copy_shared(std::byte* destination, const SharedMemory& source, std::size_t bytes) const {
    if (plugin_ == nullptr)
        throw Error(ErrorCode::unavailable, "a peer's GPU memory needs the CUDA plug-in: " + note_, advice_);
    plugin_->copy_shared(destination, source, bytes);
}

std::vector<GpuInfo> Spaces::gpus() const { return plugin_ != nullptr ? plugin_->gpus() : std::vector<GpuInfo>{}; }

} // namespace verbena::mem
