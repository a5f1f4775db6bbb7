/// The main of every test program. Catch2 3 returns 4 when every case was skipped; Meson calls a skip 77.
#if VERBENA_CATCH2_MAJOR >= 3
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

int main(int argc, char** argv) {
    const int result = Catch::Session().run(argc, argv);
    return result == 4 ? 77 : result;
}
