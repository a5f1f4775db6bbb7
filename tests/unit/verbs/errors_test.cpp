#include "catch.hpp"

#include <cerrno>

#include "verbs/errors.hpp"

using namespace verbena;
using namespace verbena::verbs;

TEST_CASE("P36: too small a RLIMIT_MEMLOCK is named with its value, the need and where to raise it") {
    const Explanation found = memlock_shortage({65536, 40960}, 131072);
    CHECK_THAT(found.fact, VERBENA_CONTAINS("RLIMIT_MEMLOCK is 65536 bytes"));
    CHECK_THAT(found.fact, VERBENA_CONTAINS("172032 are needed"));
    CHECK_THAT(found.fact, VERBENA_CONTAINS("40960 pinned already"));
    CHECK_THAT(found.advice, VERBENA_CONTAINS("LimitMEMLOCK"));
    CHECK_THAT(found.advice, VERBENA_CONTAINS("--ulimit memlock"));
}

TEST_CASE("a RLIMIT_MEMLOCK that leaves room is not mentioned") {
    CHECK(memlock_shortage({65536, 0}, 65536).fact.empty());
    CHECK(memlock_shortage({65536, 32768}, 32768).fact.empty());
    CHECK_FALSE(memlock_shortage({65536, 32768}, 32769).fact.empty()); // what is pinned already counts
    CHECK(memlock_shortage({std::nullopt, 1u << 30}, 1u << 30).fact.empty());
}

TEST_CASE("an errno of either sign becomes an Error with code and native cause") {
    auto [code, expected] = GENERATE(table<int, ErrorCode>({{ENOMEM, ErrorCode::exhausted},
                                                            {-ENOMEM, ErrorCode::exhausted},
                                                            {EMFILE, ErrorCode::exhausted},
                                                            {EPERM, ErrorCode::refused},
                                                            {EACCES, ErrorCode::refused},
                                                            {EFAULT, ErrorCode::invalid_argument},
                                                            {ENODEV, ErrorCode::device_failed},
                                                            {ETIMEDOUT, ErrorCode::peer_lost},
                                                            {EOPNOTSUPP, ErrorCode::unavailable}}));
    const Error error = errno_error(code, "ibv_x of y");
    CHECK(error.code() == expected);
    CHECK(error.cause() == Cause{Origin::system_errno, code < 0 ? -code : code, 0});
    CHECK_THAT(error.what(), VERBENA_CONTAINS("ibv_x of y: E"));
}

TEST_CASE("P66: too many open files are told with limit and use") {
    CHECK_THAT(errno_error(EMFILE, "x").what(), VERBENA_CONTAINS("open files: limit "));
    CHECK_THAT(errno_error(EMFILE, "x").advice(), VERBENA_CONTAINS("ulimit -n"));
}
