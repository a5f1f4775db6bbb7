/// @file
/// Cases that hold between any two processes, whatever wire joins them.
#pragma once

#include "catch.hpp"
#include "two_processes.hpp"

namespace verbena::testing {

template <class Open>
void expect_echo_in_order(const Open& open, std::uint32_t messages) {
    OtherProcess other(open, echo);
    End end(open());
    end.meet(other.socket());
    for (std::uint32_t i = 0; i < messages; ++i) {
        CAPTURE(i);
        end.memory[0] = static_cast<std::byte>(i);
        REQUIRE(end.post_receive(1, 2048, 64).accepted == 1);
        REQUIRE(end.post(wire::Opcode::send_with_imm, 2, 0, 8, i).accepted == 1);
        std::vector<wire::Completion> seen;
        REQUIRE(collect(end, 2, seen, other.socket()));
        const wire::Completion& received = seen[seen[0].is_receive ? 0 : 1];
        REQUIRE(received.has_immediate);
        REQUIRE(received.immediate == i + 1);
        REQUIRE(received.byte_count == 8);
        REQUIRE(end.memory[2048] == static_cast<std::byte>(i));
    }
    REQUIRE(write(other.socket(), "x", 1) == 1);
    CHECK(other.wait() == 0);
}

/// Writes the page's first bytes there, then reads the page back with a byte that the other end put beside them.
template <class Open>
void expect_rdma(const Open& open) {
    OtherProcess other(open, [](End& end, int socket) {
        end.memory[100] = std::byte{42};
        return echo(end, socket) + (end.memory[8] == std::byte{7} ? 0 : 10);
    });
    End end(open());
    end.meet(other.socket());
    end.memory[8] = std::byte{7};
    std::vector<wire::Completion> seen;
    REQUIRE(end.post_receive(1, 2048, 64).accepted == 1); // an echo: its memory is ready
    REQUIRE(end.post(wire::Opcode::send_with_imm, 2, 0, 8).accepted == 1);
    REQUIRE(collect(end, 2, seen, other.socket()));
    REQUIRE(end.post(wire::Opcode::rdma_write, 1, 0, 64).accepted == 1);
    REQUIRE(collect(end, 3, seen, other.socket()));
    CHECK(seen[2].status == wire::CompletionStatus::success);
    REQUIRE(end.post(wire::Opcode::rdma_read, 2, 0, 1024).accepted == 1);
    REQUIRE(collect(end, 4, seen, other.socket()));
    CHECK(seen[3].status == wire::CompletionStatus::success);
    CHECK(end.memory[8] == std::byte{7});
    CHECK(end.memory[100] == std::byte{42});
    REQUIRE(write(other.socket(), "x", 1) == 1);
    CHECK(other.wait() == 0);
}

} // namespace verbena::testing
