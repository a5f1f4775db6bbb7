/// Two processes, as in a job. Each case forks before it touches libfabric, and meson runs each in a process of its
/// own.
#include "catch.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include <verbena/settings.hpp>

#include "ofi/backend.hpp"
#include "process_cases.hpp"

using namespace verbena;
using verbena::testing::collect;
using verbena::testing::echo;
using verbena::testing::End;
using verbena::testing::expect_echo_in_order;
using verbena::testing::expect_rdma;
using verbena::testing::OtherProcess;
using wire::CompletionStatus;
using wire::Opcode;

namespace {

std::string provider() {
    const char* name = std::getenv("VERBENA_TEST_PROVIDER");
    return name != nullptr ? name : "tcp";
}

std::unique_ptr<wire::Device> open_device() {
    Selection selection;
    selection.backend = "ofi";
    selection.device = provider();
    Settings settings;
    settings.set("peer-timeout", "1s");
    return ofi::ofi_backend().open(selection, settings);
}

} // namespace

TEST_CASE("messages go to another process and come back in order", "[echo]") {
    expect_echo_in_order(open_device, 1000);
}

TEST_CASE("RDMA reaches memory of another process", "[rdma]") { expect_rdma(open_device); }

/// shm copies into memory that outlives the peer, so its sends look well: see docs/providers-libfabric.md.
TEST_CASE("what is posted to a killed process ends with retry_exceeded, and fail() flushes the rest once", "[kill]") {
    OtherProcess other(open_device, echo);
    End end(open_device());
    end.meet(other.socket());
    std::vector<wire::Completion> seen;
    REQUIRE(end.post_receive(1, 2048, 64).accepted == 1);
    REQUIRE(end.post(Opcode::send_with_imm, 2, 0, 8, 1).accepted == 1);
    REQUIRE(collect(end, 2, seen, other.socket()));
    other.kill();

    seen.clear();
    const bool sends_fail = provider() != "shm";
    REQUIRE(end.post_receive(9, 2048, 64).accepted == 1);
    REQUIRE(end.post(Opcode::rdma_read, 3, 0, 64).accepted == 1);
    REQUIRE(end.post(Opcode::rdma_write, 4, 0, 64).accepted == 1);
    if (sends_fail) REQUIRE(end.post(Opcode::send, 5, 0, 64).accepted == 1);
    const std::size_t posted = sends_fail ? 3 : 2;
    std::array<wire::Completion, 16> batch;
    while (seen.size() < posted) {
        const std::size_t found = end.cq->poll(batch);
        seen.insert(seen.end(), batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(found));
    }
    std::ranges::sort(seen, {}, &wire::Completion::wr_id); // libfabric cancels in no stated order
    for (std::size_t i = 0; i < posted; ++i) {
        CHECK(seen[i].wr_id == 3 + i);
        CHECK(seen[i].status == CompletionStatus::retry_exceeded);
        CHECK(seen[i].cause.origin == Origin::libfabric);
    }
    // At first libfabric answers that there is no connection; soon it tries to connect for as long as it is asked.
    for (bool gave_up = !sends_fail; !gave_up; gave_up = batch[0].cause.code == ETIMEDOUT) {
        REQUIRE(end.post(Opcode::send, 6, 0, 64).accepted == 1);
        while (end.cq->poll(std::span(batch).first(1)) == 0) {
        }
        REQUIRE(batch[0].wr_id == 6);
        REQUIRE(batch[0].status == CompletionStatus::retry_exceeded);
    }
    end.qp->fail();
    REQUIRE(end.cq->poll(batch) == 1);
    CHECK(batch[0].wr_id == 9);
    CHECK(batch[0].status == CompletionStatus::flushed);
    CHECK(end.cq->poll(batch) == 0);
    CHECK(end.post(Opcode::send, 7, 0, 8).refusal == wire::Refusal::queue_broken);
}

TEST_CASE("200 devices opened and closed leave no file descriptor behind", "[leak]") {
    const auto descriptors = [] {
        std::size_t count = 0;
        for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
        return count;
    };
    { End first(open_device()); } // what libfabric opens once for the process
    const std::size_t before = descriptors();
    for (int i = 0; i < 200; ++i) {
        End end(open_device());
        end.post_receive(1, 0, 64);
    }
    CHECK(descriptors() == before);
}
