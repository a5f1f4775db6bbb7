#include "catch.hpp"

#include <string>

#include "mem/plugin.hpp"

using namespace verbena;
using namespace verbena::mem;

TEST_CASE("each missing link of the chain is named, with what to do about it") {
    using Files = std::vector<std::string>;
    const auto [driver, files, answers, note] = GENERATE(table<std::string, Files, bool, std::string>({
        {"libno-such-driver.so.1", {FAKE_PLUGIN}, false, "no CUDA driver: libno-such-driver.so.1: cannot open"},
        {FAKE_PLUGIN, {FAKE_PLUGIN}, false, "it has no cuInit"},
        {FAKE_DRIVER_WITHOUT_GPU, {FAKE_PLUGIN}, false, "cuInit says CUDA_ERROR_NO_DEVICE (100)"},
        {FAKE_DRIVER, {}, true, "the plug-in is in none of"},
        {FAKE_DRIVER, {"/nowhere/a.so", "/nowhere/b.so"}, true, "in none of: /nowhere/a.so, /nowhere/b.so"},
        {FAKE_DRIVER, {"/proc/self/cmdline"}, true, "cannot be loaded: "},
        {FAKE_DRIVER, {FAKE_DRIVER}, true, "it has no verbena_memory_plugin"},
        {FAKE_DRIVER, {FAKE_PLUGIN_OTHER_ABI}, true, "refused: built for another ABI"},
        {FAKE_DRIVER, {FAKE_PLUGIN_THROWS}, true, "failed in verbena_memory_plugin: the entry threw"},
    }));
    const LoadedPlugin loaded = load_plugin({driver, files});
    CHECK(loaded.plugin == nullptr);
    CHECK(loaded.driver_answers == answers);
    CHECK_THAT(loaded.note, VERBENA_CONTAINS(note));
    CHECK_FALSE(loaded.advice.empty());
}

TEST_CASE("the first plug-in file that exists is loaded and says where it came from") {
    const LoadedPlugin loaded = load_plugin({FAKE_DRIVER, {"/nowhere/a.so", FAKE_PLUGIN, FAKE_PLUGIN_THROWS}});
    REQUIRE(loaded.plugin != nullptr);
    CHECK(loaded.note == "fake 1.0 loaded from " FAKE_PLUGIN);
    CHECK(loaded.driver_answers);
    CHECK(loaded.advice.empty());
    CHECK(load_plugin({FAKE_DRIVER, {FAKE_PLUGIN}}).plugin == loaded.plugin);
}

TEST_CASE("the plug-in is sought beside this program, in the configured folder, then in the build tree") {
    const std::string program = MEM_TEST_DIR;
    const std::vector<std::string> expected = {program + "/libverbena-cuda.so", program + "/verbena/libverbena-cuda.so",
                                               VERBENA_PLUGIN_DIR "/libverbena-cuda.so",
                                               BUILD_ROOT "/gpudirect/libverbena-cuda.so"};
    CHECK(default_search().files == expected);
    CHECK(default_search().driver == "libcuda.so.1");
}
