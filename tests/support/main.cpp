/// The main of every test program. A run in which every case was skipped ends with 77, Meson's code for a skip.
#if VERBENA_CATCH2_MAJOR >= 3
#include <catch2/catch_session.hpp>

int main(int argc, char** argv) {
    const int result = Catch::Session().run(argc, argv);
    return result == 4 ? 77 : result; // Catch2 3 returns 4 then
}
#else
#define CATCH_CONFIG_RUNNER
#include "catch.hpp"

namespace {

int runs = 0; ///< of test cases, one for each section and generated value
int skips = 0;

struct Counter : Catch::TestEventListenerBase {
    using TestEventListenerBase::TestEventListenerBase;
    void sectionEnded(const Catch::SectionStats&) override { ++runs; }
};
CATCH_REGISTER_LISTENER(Counter)

} // namespace

void verbena::testing::note_skip() { ++skips; }

int main(int argc, char** argv) {
    const int result = Catch::Session().run(argc, argv);
    return result == 0 && skips > 0 && skips >= runs ? 77 : result;
}
#endif
