/// @file
/// Finds and loads the GPU plug-in. A process without a CUDA driver pays one failed dlopen and never maps the plug-in.
#pragma once

#include <string>
#include <vector>

#include "mem/space.hpp"

namespace verbena::mem {

/// Where to look. Tests hand in their own.
struct PluginSearch {
    std::string driver = "libcuda.so.1"; ///< asked first: without it, or without a GPU behind it, nothing else is tried
    std::vector<std::string> files;      ///< candidate paths of the plug-in; the first that exists decides
};

/// The driver of this machine and, in this order: beside the object that holds this code (libverbena.so); in verbena/
/// beside it; in <libdir>/verbena as configured; in gpudirect/ of the build tree that holds it, which is recognised by
/// its build.ninja. Never the working directory or the loader's path: the process would run what it finds there.
[[nodiscard]] PluginSearch default_search();

/// What came of it. `plugin` lives as long as the process: neither it nor the driver is ever unloaded, because CUDA
/// keeps threads and exit handlers of its own.
struct LoadedPlugin {
    Plugin* plugin = nullptr;
    bool driver_answers = false; ///< a driver with at least one usable GPU
    std::string note;            ///< what was loaded, or the first link of the chain that is missing
    std::string advice;          ///< empty where a plug-in was loaded
};

/// Never throws for what it finds. Thread-safe.
[[nodiscard]] LoadedPlugin load_plugin(const PluginSearch& search);

} // namespace verbena::mem
