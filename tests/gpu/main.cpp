/// Runs on a real GPU or says why it cannot: exit 77 without a driver, failure where a driver answers and the plug-in
/// does not load.
#if VERBENA_CATCH2_MAJOR >= 3
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

#include <cstdio>

#include "gpu_fixture.hpp"
#include "mem/plugin.hpp"

int main(int argc, char** argv) {
    const verbena::mem::LoadedPlugin loaded = verbena::mem::load_plugin(verbena::mem::default_search());
    std::printf("%s\n", loaded.note.c_str());
    if (!loaded.driver_answers) {
        std::printf("skipped: %s\n", loaded.advice.c_str());
        return 77;
    }
    if (loaded.plugin == nullptr) return 1;
    std::printf("seed %u (VERBENA_TEST_SEED repeats it)\n", verbena::test::seed());
    return Catch::Session().run(argc, argv);
}
