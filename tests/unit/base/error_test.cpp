#include "catch.hpp"

#include <cerrno>

#include <verbena/error.hpp>

using namespace verbena;

TEST_CASE("a status is a plain value small enough for the hot path") {
    STATIC_REQUIRE(std::is_trivially_copyable_v<Status>);
    STATIC_REQUIRE(sizeof(Status) <= 48);
}

TEST_CASE("native causes are spelled by their specification's names") {
    CHECK(describe(Cause{}).empty());
    CHECK_THAT(describe(Cause{Origin::work_completion, 12, 0x81}),
               VERBENA_CONTAINS("IBV_WC_RETRY_EXC_ERR (12), vendor 0x81"));
    CHECK_THAT(describe(Cause{Origin::work_completion, 99, 0}), VERBENA_CONTAINS("(99)"));
    CHECK_THAT(describe(Cause{Origin::system_errno, ENOMEM, 0}), VERBENA_CONTAINS("ENOMEM (Cannot allocate memory)"));
    CHECK_THAT(describe(Cause{Origin::libfabric, EAGAIN, 0}), VERBENA_CONTAINS("FI_EAGAIN"));
}

TEST_CASE("a truncated receive says how much arrived") {
    Status status;
    status.code = ErrorCode::truncated;
    status.bytes = 100;
    CHECK(describe(status) == "truncated (operation): 100 bytes arrived");
}
