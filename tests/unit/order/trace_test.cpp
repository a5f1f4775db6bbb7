/// A recorded program is checked by the rules that it ran by.
#include "catch.hpp"

#include <sstream>

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include <verbena/error.hpp>
#include <verbena/order_check.hpp>

#include "api/order_trace_file.hpp"
#include "msg/registrations.hpp"
#include "sim_job.hpp"

using namespace verbena;
using verbena::testing::SimJob;
using Kind = msg::OneSidedCall::Kind;

namespace {

struct TemporaryTrace {
    std::string path =
        (std::filesystem::temp_directory_path() / ("verbena-trace-" + std::to_string(::getpid()))).string();
    ~TemporaryTrace() { std::filesystem::remove(path + ".0"); }
};

/// A get, and a put to where it reads, with or without a fence between them.
OrderReport recorded(Ordering ordering, bool with_fence) {
    TemporaryTrace trace;
    {
        detail::OrderTraceFile file(trace.path, 0, sim::mlx5_like().capabilities);
        struct stat status {};
        REQUIRE(::stat((trace.path + ".0").c_str(), &status) == 0);
        CHECK((status.st_mode & 0777) == 0600);
        msg::EngineOptions options;
        options.ordering = ordering;
        options.order_trace = &file;
        SimJob job(2, 3, sim::mlx5_like(), options);
        const Access rights = Access::remote_read | Access::remote_write;
        std::vector<std::byte> memory(4096);
        std::vector<std::byte> into(512);
        const auto target = job[1].register_memory(memory, Access::local_write | rights);
        const RemoteRegion region = target->remote(rights);
        msg::OneSidedCall get;
        get.kind = Kind::get;
        get.region = &region;
        get.offset = 1000;
        get.local = into;
        msg::OneSidedCall put = get;
        put.kind = Kind::put;
        put.offset = 1500;
        std::vector<std::byte> from(100);
        put.local = from;
        const auto first = job[0].one_sided(1, get);
        if (with_fence) job[0].fence(1);
        const auto second = job[0].one_sided(1, put);
        REQUIRE(job.run_until_complete(0, first));
        REQUIRE(job.run_until_complete(0, second));
        const auto flush = job[0].flush(1);
        REQUIRE(job.run_until_complete(0, flush));
    }
    std::ifstream read(trace.path + ".0");
    return check_order(read);
}

} // namespace

TEST_CASE("a trace shows the pair that nothing ordered, and what would order it") {
    const OrderReport report = recorded(Ordering::relaxed, false);
    CHECK(report.operations == 2);
    CHECK(report.fences == 0);
    REQUIRE(report.conflicts.size() == 1);
    const OrderConflict& found = report.conflicts[0];
    CHECK(found.earlier_what == "get of 512 bytes");
    CHECK(found.later_what == "put of 100 bytes");
    CHECK(found.at_peer);
    CHECK(found.bytes == 12);
    CHECK_THAT(found.remedy, VERBENA_CONTAINS("fence() on the endpoint of rank 1"));
}

TEST_CASE("with a fence, or in hazard mode, the same trace is clean") {
    CHECK(recorded(Ordering::relaxed, true).conflicts.empty());
    const OrderReport hazard = recorded(Ordering::hazard, false);
    CHECK(hazard.conflicts.empty());
    CHECK(hazard.fences == 1);
}

TEST_CASE("what is no trace is refused by line") {
    for (const char* text :
         {"{\"verbena_order_trace\":2,\"rank\":0,\"ordered_writes\":true,\"native_fence\":true}\n", "x\n",
          "{\"verbena_order_trace\":1,\"rank\":0,\"ordered_writes\":true,\"native_fence\":true}\n{\"event\":"}) {
        std::istringstream trace(text);
        CHECK_THROWS_AS(check_order(trace), Error);
    }
}
