/// @file
/// What follows from a request alone, for every backend. Pure functions; hot path.
#pragma once

#include <cstdint>
#include <span>

#include "wire/types.hpp"

namespace verbena::wire {

/// Bytes that a list names.
[[nodiscard]] inline std::uint64_t length_of(std::span<const Sge> sges) noexcept {
    std::uint64_t length = 0;
    for (const Sge& sge : sges) length += sge.length;
    return length;
}

[[nodiscard]] constexpr bool is_atomic(Opcode opcode) noexcept {
    return opcode == Opcode::atomic_fetch_add || opcode == Opcode::atomic_compare_swap;
}

/// Of the completion that a request gets.
[[nodiscard]] constexpr CompletionKind completion_kind(Opcode opcode) noexcept {
    switch (opcode) {
    case Opcode::send:
    case Opcode::send_with_imm:
        return CompletionKind::send;
    case Opcode::rdma_write:
    case Opcode::rdma_write_with_imm:
        return CompletionKind::rdma_write;
    case Opcode::rdma_read:
        return CompletionKind::rdma_read;
    case Opcode::atomic_fetch_add:
    case Opcode::atomic_compare_swap:
        return CompletionKind::atomic;
    }
    return CompletionKind::send;
}

} // namespace verbena::wire
