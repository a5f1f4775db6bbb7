/// The main of every test program. It closes with "N passed, N failed, N skipped", counting test cases, and ends with
/// 77, Meson's code for a skip, when every case was skipped.
#if VERBENA_CATCH2_MAJOR < 3
#define CATCH_CONFIG_RUNNER
#endif
#include "catch.hpp"

#include <cstdio>

namespace {

#if VERBENA_CATCH2_MAJOR >= 3
using Listener = Catch::EventListenerBase;
#else
using Listener = Catch::TestEventListenerBase;
#endif

int passed = 0;
int failed = 0;
int skipped = 0;
std::string current_case;
bool case_skips = false;

/// A case that skipped and checked nothing is skipped: Catch2 2 would count it as passed.
struct Counter : Listener {
    using Listener::Listener;
    void testCaseStarting(const Catch::TestCaseInfo& info) override {
        current_case = info.name;
        case_skips = false;
    }
    void testCaseEnded(const Catch::TestCaseStats& stats) override {
        const auto& assertions = stats.totals.assertions;
        if (assertions.failed > 0) {
            ++failed;
        } else if (case_skips && assertions.passed == 0) {
            ++skipped;
        } else {
            ++passed;
        }
    }
};
CATCH_REGISTER_LISTENER(Counter)

} // namespace

void verbena::testing::note_skip(const std::string& reason) {
    case_skips = true;
    std::printf("skipped: %s -- %s\n", current_case.c_str(), reason.c_str());
}

int main(int argc, char** argv) {
    const int result = Catch::Session().run(argc, argv);
    std::printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
    if (result != 0 && result != 4) return result; // 4: Catch2 3 says that all were skipped
    return passed == 0 && skipped > 0 ? 77 : 0;
}
