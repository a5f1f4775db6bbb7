#include "mem/plugin.hpp"

#include <array>
#include <exception>
#include <filesystem>
#include <optional>
#include <utility>

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace verbena::mem {
namespace {

namespace fs = std::filesystem;

constexpr const char* file_name = "libverbena-cuda.so";

/// How many folders up from this object the root of a build tree may be: lib/api/ and tests/unit/mem/ are two and
/// three.
constexpr int build_tree_depth = 4;

template <class Function>
Function symbol(void* library, const char* name) {
    return reinterpret_cast<Function>(dlsym(library, name));
}

/// The driver's own word for a CUresult, which needs no successful cuInit.
std::string spell(void* driver, int result) {
    const auto get_name = symbol<int (*)(int, const char**)>(driver, "cuGetErrorName");
    const char* name = nullptr;
    if (get_name != nullptr && get_name(result, &name) == 0 && name != nullptr)
        return fmt::format("{} ({})", name, result);
    return fmt::format("CUDA error {}", result);
}

/// The missing link, or nothing where a GPU can be used.
std::optional<LoadedPlugin> missing_driver(const std::string& library) {
    void* driver = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (driver == nullptr) {
        return LoadedPlugin{
            nullptr, false, fmt::format("no CUDA driver: {}", dlerror()),
            "install the NVIDIA driver; in a container, start it with the GPU passed through (--gpus all)"};
    }
    const auto init = symbol<int (*)(unsigned)>(driver, "cuInit");
    if (init == nullptr) {
        return LoadedPlugin{nullptr, false, fmt::format("{} is no CUDA driver: it has no cuInit", library),
                            "reinstall the NVIDIA driver"};
    }
    if (const int result = init(0); result != 0) {
        return LoadedPlugin{nullptr, false,
                            fmt::format("the CUDA driver is installed, but cuInit says {}", spell(driver, result)),
                            "run nvidia-smi; check CUDA_VISIBLE_DEVICES and the permissions of /dev/nvidia*"};
    }
    return std::nullopt;
}

/// The directory of the shared object, or program, that this code was linked into.
fs::path own_directory() {
    Dl_info info{};
    static const char anchor = 0;
    if (dladdr(&anchor, &info) == 0 || info.dli_fname == nullptr) return {};
    std::error_code ignored;
    const fs::path self = fs::canonical(info.dli_fname, ignored);
    return self.parent_path();
}

} // namespace

PluginSearch default_search() {
    PluginSearch search;
    const fs::path here = own_directory();
    if (!here.empty()) {
        search.files.push_back(here / file_name);
        search.files.push_back(here / "verbena" / file_name);
    }
    search.files.push_back(fs::path(VERBENA_PLUGIN_DIR) / file_name);
    fs::path folder = here;
    for (int level = 0; level < build_tree_depth && folder.has_relative_path();
         ++level, folder = folder.parent_path()) {
        std::error_code ignored;
        if (fs::exists(folder / "build.ninja", ignored)) search.files.push_back(folder / "gpudirect" / file_name);
    }
    return search;
}

LoadedPlugin load_plugin(const PluginSearch& search) {
    if (auto missing = missing_driver(search.driver)) return std::move(*missing);

    const auto refused = [](std::string note, std::string advice) {
        return LoadedPlugin{nullptr, true, std::move(note), std::move(advice)};
    };
    std::string file;
    for (const std::string& candidate : search.files) {
        std::error_code ignored;
        if (file.empty() && fs::exists(candidate, ignored)) file = candidate;
    }
    if (file.empty()) {
        return refused(
            fmt::format("a CUDA driver answers, but the plug-in is in none of: {}", fmt::join(search.files, ", ")),
            "build verbena where nvcc is installed (meson setup -Dcuda=enabled), or install its CUDA package");
    }
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        return refused(fmt::format("a CUDA driver answers, but the plug-in cannot be loaded: {}", dlerror()),
                       "install the library it names, or the plug-in of this build");
    }
    const auto entry = symbol<PluginEntry>(library, plugin_entry_name);
    if (entry == nullptr) {
        return refused(fmt::format("{} is no verbena plug-in: it has no {}", file, plugin_entry_name),
                       "install the plug-in of this build");
    }
    const std::string advice = "install the plug-in built together with this library";
    try {
        const char* why = nullptr;
        if (Plugin* plugin = entry(plugin_abi, &why)) {
            return {plugin, true, fmt::format("{} loaded from {}", plugin->describe(), file), {}};
        }
        return refused(fmt::format("{} refused: {}", file, why != nullptr ? why : "it gave no reason"), advice);
    } catch (const std::exception& error) {
        return refused(fmt::format("{} failed in {}: {}", file, plugin_entry_name, error.what()), advice);
    } catch (...) {
        return refused(fmt::format("{} failed in {}: it threw something unknown", file, plugin_entry_name), advice);
    }
}

} // namespace verbena::mem
