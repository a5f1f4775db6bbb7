/// Two processes, as in a job.
#include "catch.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <set>

#include "process_cases.hpp"
#include "shm/device.hpp"

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

/// Makes devices that reach remote memory as one of the two ways wants it.
struct Open {
    shm::RemoteAccess remote_access = shm::RemoteAccess::attach_if_allowed;
    std::unique_ptr<wire::Device> operator()() const { return std::make_unique<shm::Device>(remote_access); }
};

Open either_way() { return {GENERATE(shm::RemoteAccess::attach_if_allowed, shm::RemoteAccess::through_the_ring)}; }

std::set<std::string> names_in(const char* directory) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) names.insert(entry.path().filename());
    return names;
}

/// Posts one request after another until one of them says what became of the peer.
wire::Completion post_until_failure(End& end, Opcode opcode) {
    std::array<wire::Completion, 1> one;
    for (std::uint64_t i = 100;; ++i) {
        REQUIRE(end.post(opcode, i, 0, 64).accepted == 1);
        while (end.cq->poll(one) == 0) {
        }
        if (one[0].status != CompletionStatus::success) return one[0];
    }
}

} // namespace

TEST_CASE("messages go to another process through shared memory and come back in order") {
    expect_echo_in_order(Open{}, 10'000);
}

TEST_CASE("RDMA reaches memory of another process, attached or through the ring") { expect_rdma(either_way()); }

TEST_CASE("whatever is posted to a killed process ends with retry_exceeded, and leaves no file behind") {
    const std::set<std::string> before = names_in("/dev/shm");
    const Open open = either_way();
    const Opcode opcode = GENERATE(Opcode::send, Opcode::rdma_read, Opcode::rdma_write);
    OtherProcess other(open, echo);
    End end(open());
    end.meet(other.socket());
    std::vector<wire::Completion> seen;
    REQUIRE(end.post_receive(1, 2048, 64).accepted == 1);
    REQUIRE(end.post(Opcode::send_with_imm, 2, 0, 8, 1).accepted == 1);
    REQUIRE(collect(end, 2, seen, other.socket()));
    REQUIRE(end.post_receive(9, 2048, 64).accepted == 1);
    other.kill();

    const wire::Completion failed = post_until_failure(end, opcode);
    CHECK(failed.status == CompletionStatus::retry_exceeded);
    CHECK(failed.cause.origin == Origin::system_errno);
    CHECK(failed.cause.code == ESRCH);
    std::array<wire::Completion, 4> rest;
    REQUIRE(end.cq->poll(rest) == 1);
    CHECK(rest[0].wr_id == 9);
    CHECK(rest[0].status == CompletionStatus::flushed);
    CHECK(end.post(opcode, 3, 0, 8).refusal == wire::Refusal::queue_broken);
    for (const std::string& name : names_in("/dev/shm")) {
        CAPTURE(name);
        CHECK((before.contains(name) || !name.starts_with("verbena")));
    }
}

TEST_CASE("what waits for room in the ring of a killed process ends too") {
    const Open open;
    OtherProcess other(open, [](End&, int socket) { // takes nothing
        char byte = 0;
        return static_cast<int>(read(socket, &byte, 1));
    });
    End end(open());
    end.meet(other.socket());
    std::vector<wire::Completion> seen;
    std::array<wire::Completion, 16> batch;
    std::uint64_t taken = 0;
    while (end.post(Opcode::send, taken, 0, 4096).accepted == 1) {
        ++taken;
        const std::size_t found = end.cq->poll(batch);
        seen.insert(seen.end(), batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(found));
    }
    REQUIRE(seen.size() < taken);
    other.kill();
    while (seen.size() < taken) {
        const std::size_t found = end.cq->poll(batch);
        seen.insert(seen.end(), batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(found));
    }
    const auto failure = std::ranges::find_if(
        seen, [](const wire::Completion& each) { return each.status != CompletionStatus::success; });
    REQUIRE(failure != seen.end());
    CHECK(failure->status == CompletionStatus::retry_exceeded);
    CHECK(std::all_of(failure + 1, seen.end(),
                      [](const wire::Completion& each) { return each.status == CompletionStatus::flushed; }));
}

TEST_CASE("a peer that took its queue pair down is lost to those who post") {
    const Open open = either_way();
    OtherProcess other(open, [](End& end, int socket) {
        char byte = 0;
        if (read(socket, &byte, 1) != 1) return 1; // connected at both ends
        end.qp.reset();
        return read(socket, &byte, 1) == 1 ? 0 : 1; // the process lives on
    });
    End end(open());
    end.meet(other.socket());
    REQUIRE(write(other.socket(), "x", 1) == 1);
    CHECK(post_until_failure(end, Opcode::send).status == CompletionStatus::retry_exceeded);
    REQUIRE(write(other.socket(), "x", 1) == 1);
    CHECK(other.wait() == 0);
}

TEST_CASE("a process that has ended cannot be connected to") {
    const Open open;
    std::array<std::byte, wire::max_address_bytes> address;
    std::size_t length = 0;
    {
        OtherProcess other(open, echo);
        const ssize_t got = read(other.socket(), address.data(), address.size());
        REQUIRE(got > 0);
        length = static_cast<std::size_t>(got);
    }
    End end(open());
    try {
        end.qp->connect(std::span(address).first(length));
        FAIL("connected to a process that is gone");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::peer_lost);
    }
}

TEST_CASE("devices opened and closed leave no file descriptor behind") {
    const std::size_t before = names_in("/proc/self/fd").size();
    for (int i = 0; i < 50; ++i) {
        End end(Open{}());
        end.post_receive(1, 0, 64);
    }
    CHECK(names_in("/proc/self/fd").size() == before);
}
