#include "sim/personality.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>

#include <fmt/format.h>

#include <verbena/error.hpp>

namespace verbena::sim {
namespace {

using wire::CompletionStatus;
using wire::Retirement;

// facts: the errno differs by provider, and so does its sign.
constexpr std::array<FullCode, 1> enomem{{{ENOMEM, 0}}};
constexpr std::array<FullCode, 1> negative_eagain{{{-EAGAIN, 0}}};
constexpr std::array<FullCode, 7> every_code{
    {{ENOMEM, 0}, {-ENOMEM, 0}, {EAGAIN, 0}, {-EAGAIN, 0}, {ENOSPC, 0}, {-ENOSPC, 0}, {-1, ENOMEM}}};

constexpr std::uint32_t basic_block_bytes = 64;
constexpr std::uint32_t sge_bytes = 16;
constexpr std::uint32_t inline_header_bytes = 4;

void check(const Personality& personality, const char* what, std::uint32_t asked, std::uint32_t limit) {
    if (asked <= limit) return;
    throw Error(ErrorCode::exhausted, fmt::format("create queue pair on a {} device: {} {} asked for, the limit is {}",
                                                  personality.name, asked, what, limit));
}

std::uint32_t round_up(std::uint32_t value, std::uint32_t unit) { return (value + unit - 1) / unit * unit; }

} // namespace

const Personality& mlx5_like() {
    static const Personality value = [] {
        Personality made;
        made.name = "mlx5_like";
        made.capabilities.max_message_bytes = 1u << 30;
        made.capabilities.max_completions = 4194303;
        made.accounting.retirement = Retirement::through_completion;
        made.sizing = {Sizing::Rule::basic_blocks, 192, 32768, 30, 988, 0};
        made.full_codes = enomem;
        made.max_read_delay_ns = 4000;
        return made;
    }();
    return value;
}

const Personality& rxe_like() {
    static const Personality value = [] {
        Personality made;
        made.name = "rxe_like";
        made.capabilities.max_message_bytes = 8u << 20;
        made.capabilities.max_completions = 32767;
        made.accounting.retirement = Retirement::at_execution;
        made.sizing = {Sizing::Rule::ring_less_one, 0, 1048576, 32, 512, 16};
        made.codes = {CompletionStatus::local_qp_operation_error, CompletionStatus::remote_operation_error,
                      CompletionStatus::local_qp_operation_error};
        made.full_codes = enomem;
        made.retry_seven_is_for_ever = true;
        made.overrun_kills_queue = false;
        made.flushes_receives_in_error = false;
        return made;
    }();
    return value;
}

const Personality& rdm_like() {
    static const Personality value = [] {
        Personality made;
        made.name = "rdm_like";
        made.capabilities.connected = false;
        made.capabilities.needs_local_key = false;
        made.capabilities.max_message_bytes = 1u << 30;
        made.capabilities.max_completions = 65536;
        made.accounting.retirement = Retirement::each_completion;
        made.sizing = {Sizing::Rule::as_asked, 0, 4096, 8, 192, 0};
        made.full_codes = negative_eagain;
        made.codes.too_long_at_sender = CompletionStatus::success; // the receiver alone is told
        made.max_read_delay_ns = 4000;
        made.takes_posts_in_error = false;
        made.offset_addresses = true;
        return made;
    }();
    return value;
}

const Personality& adversary() {
    static const Personality value = [] {
        Personality made = mlx5_like();
        made.name = "adversary";
        made.full_codes = every_code;
        made.max_read_delay_ns = 20'000;
        made.max_write_delay_ns = 20'000;
        made.max_completion_delay_ns = 5'000;
        made.capabilities.ordered_writes = false;
        made.faults = {0.005, 3'000, 0.02, 0.01, 0.005};
        made.withholds_a_flush = true;
        return made;
    }();
    return value;
}

const Personality& ud_like() {
    static const Personality value = [] {
        Personality made;
        made.name = "ud_like";
        wire::Capabilities& can = made.capabilities;
        can.connected = can.reliable = can.ordered = false;
        can.rdma_read = can.rdma_write = can.write_with_imm = can.atomics = can.native_fence = false;
        can.max_message_bytes = 4096;
        can.max_completions = 4194303;
        can.grh_bytes = 40;
        made.accounting.retirement = Retirement::through_completion;
        made.sizing = {Sizing::Rule::basic_blocks, 64, 32768, 30, 988, 0};
        made.full_codes = enomem;
        return made;
    }();
    return value;
}

std::span<const Personality* const> personalities() {
    static const std::array all{&mlx5_like(), &rxe_like(), &rdm_like(), &adversary()};
    return all;
}

wire::Granted grant(const Personality& personality, const wire::QueuePairOptions& asked) {
    const Sizing& sizing = personality.sizing;
    check(personality, "send work requests", asked.send_depth, sizing.max_work_requests);
    check(personality, "receive work requests", asked.receive_depth, sizing.max_work_requests);
    check(personality, "scatter/gather entries", std::max(asked.send_sges, asked.receive_sges), sizing.max_sges);

    wire::Granted granted;
    granted.send_depth = std::max(asked.send_depth, 1u);
    granted.receive_depth = std::max(asked.receive_depth, 1u);
    granted.send_sges = std::max(asked.send_sges, 1u);
    granted.receive_sges = std::max(asked.receive_sges, 1u);
    granted.inline_bytes = std::clamp(asked.inline_bytes, sizing.min_inline_bytes, sizing.max_inline_bytes);
    switch (sizing.rule) {
    case Sizing::Rule::as_asked:
        break;
    case Sizing::Rule::ring_less_one:
        granted.send_depth = std::bit_ceil(granted.send_depth + 1) - 1;
        granted.receive_depth = std::bit_ceil(granted.receive_depth + 1) - 1;
        break;
    case Sizing::Rule::basic_blocks: {
        const std::uint32_t payload =
            std::max(granted.send_sges * sge_bytes, round_up(granted.inline_bytes + inline_header_bytes, sge_bytes));
        const std::uint32_t wqe = round_up(sizing.wqe_overhead_bytes + payload, basic_block_bytes);
        granted.send_depth = std::bit_ceil(granted.send_depth * wqe) / wqe;
        granted.receive_depth = std::bit_ceil(granted.receive_depth);
        granted.inline_bytes = wqe - sizing.wqe_overhead_bytes - inline_header_bytes; // what fits comes free
        break;
    }
    }
    return granted;
}

} // namespace verbena::sim
