/// @file
/// The timed loops of `perf --op` for puts, gets and atomics. The initiator works; the other end lends its memory, and
/// makes progress so that wires without RDMA go on.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <verbena/remote_region.hpp>

#include "memory_kind.hpp"

#include "rates.hpp"
#include "session.hpp"

namespace verbena::tools {

enum class PerfOperation : std::uint8_t { send, put, put_with_signal, get, fetch_add, compare_and_swap };
/// @throws Error (invalid_argument) listing the names.
[[nodiscard]] PerfOperation perf_operation(std::string_view name);
[[nodiscard]] constexpr bool is_atomic(PerfOperation operation) {
    return operation == PerfOperation::fetch_add || operation == PerfOperation::compare_and_swap;
}

/// One caller at a time.
class OneSidedMeasurement {
  public:
    OneSidedMeasurement(Session& session, PerfOperation operation, std::uint64_t largest_bytes, std::uint64_t window,
                        MemoryChoice memory);

    [[nodiscard]] std::uint64_t window(std::uint64_t bytes) const;

    /// Does the operation on a pattern and checks what it did, at the end where that is seen. Both ends.
    /// @throws Error naming offset, expected and got.
    void verify(std::uint64_t bytes, bool is_initiator);

    /// Microseconds. A put with signal: half of a ping-pong of two. A put: until it is visible at the other end. The
    /// others: until the value is here. The other end gets nothing.
    std::vector<double> times(std::uint64_t bytes, std::uint64_t warmup, std::uint64_t iterations, bool is_initiator);

    /// So many of them, a window deep; the time runs until all are visible.
    Seconds stream(std::uint64_t bytes, std::uint64_t count, bool is_initiator);

  private:
    Operation start(std::uint64_t bytes, std::uint64_t index);
    void flush();
    /// The end that lends waits here until the other has said that it is done.
    void release_other();
    void lend();
    void wait_for_signal(std::uint64_t value);
    [[nodiscard]] std::uint64_t signal_offset() const { return theirs_.size() - 64; }

    Session& session_;
    PerfOperation operation_;
    std::uint64_t window_;
    std::uint64_t data_bytes_; ///< of each region; a word for signals and counts follows
    MemoryRegion local_;
    MemoryRegion lent_;
    RemoteRegion theirs_;
    std::uint64_t signals_ = 0;         ///< given so far, by either end: they take turns
    std::vector<std::uint64_t> counts_; ///< what the other end's words hold, by what the atomics did: one a place
    std::vector<std::uint64_t> before_; ///< in the window, so that they need not wait for each other
    std::vector<Operation> running_;
};

} // namespace verbena::tools
