#include "catch.hpp"

#include <verbena/error.hpp>

#include "mem/plugin.hpp"

using namespace verbena;
using namespace verbena::mem;

namespace {

const PluginSearch nothing_here{"libno-such-driver.so.1", {FAKE_PLUGIN}};
const PluginSearch everything_here{FAKE_DRIVER, {FAKE_PLUGIN}};

} // namespace

TEST_CASE("gpu=auto goes on without a driver and keeps the reason") {
    const Spaces spaces("auto", nothing_here);
    int on_stack = 0;
    CHECK_FALSE(spaces.has_plugin());
    CHECK_THAT(spaces.note(), VERBENA_CONTAINS("no CUDA driver"));
    CHECK(spaces.gpus().empty());
    CHECK(spaces.classify(&on_stack).kind == MemoryKind::host);
    CHECK(spaces.classify(&on_stack).gpu == -1);
    CHECK(spaces.classify(nullptr).problem.empty());
    CHECK(spaces.space(MemoryKind::host).kind() == MemoryKind::host);
}

TEST_CASE("a GPU's memory without the plug-in is unavailable, for the reason in the note") {
    const Spaces spaces("auto", nothing_here);
    const MemoryKind kind = GENERATE(MemoryKind::pinned, MemoryKind::device, MemoryKind::managed);
    try {
        (void)spaces.space(kind);
        FAIL("there is one");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::unavailable);
        CHECK_THAT(error.what(), VERBENA_CONTAINS(std::string(name(kind)) + " memory needs the CUDA plug-in: "));
        CHECK_THAT(error.what(), VERBENA_CONTAINS(spaces.note()));
        CHECK_FALSE(error.advice().empty());
    }
}

TEST_CASE("gpu=required throws the missing link") {
    try {
        const Spaces spaces("required", nothing_here);
        FAIL("constructed");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::unavailable);
        CHECK_THAT(error.what(), VERBENA_CONTAINS("gpu=required: no CUDA driver"));
        CHECK_FALSE(error.advice().empty());
    }
    CHECK_NOTHROW(Spaces("required", everything_here));
}

TEST_CASE("gpu=off does not look, even where everything is there") {
    const Spaces spaces("off", everything_here);
    CHECK_FALSE(spaces.has_plugin());
    CHECK(spaces.note() == "gpu=off: no CUDA driver was looked for");
    CHECK_THROWS_AS(spaces.space(MemoryKind::device), Error);
}

TEST_CASE("with a plug-in, pointers and memory other than host are its business") {
    const Spaces spaces("auto", everything_here);
    int on_stack = 0;
    CHECK(spaces.has_plugin());
    CHECK_THAT(spaces.note(), VERBENA_CONTAINS("fake 1.0"));
    CHECK(spaces.classify(&on_stack).gpu == 3);
    CHECK(spaces.gpus().at(0).name == "fake");
    CHECK(spaces.space(MemoryKind::managed).kind() == MemoryKind::managed);
    CHECK(spaces.space(MemoryKind::host).kind() == MemoryKind::host);
}
