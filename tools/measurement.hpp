/// @file
/// The timed loops of `perf`. Buffers are allocated and registered once for the largest size.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <verbena/memory.hpp>

#include "memory_kind.hpp"
#include "rates.hpp"
#include "session.hpp"

namespace verbena::tools {

/// One caller at a time.
class Measurement {
  public:
    /// @param window messages that may be on their way in a stream; less for sizes of which so many would not fit into
    /// the memory set aside.
    Measurement(Session& session, std::uint64_t largest_bytes, std::uint64_t window, MemoryChoice memory);

    /// Messages on their way for this size.
    [[nodiscard]] std::uint64_t window(std::uint64_t bytes) const;

    /// Each end sends a pattern and checks what it gets. @throws Error naming offset, expected and got.
    void verify(std::uint64_t bytes);

    /// Ping-pong. The initiator gets half of each round trip, in microseconds; the other end nothing.
    std::vector<double> half_round_trips(std::uint64_t bytes, std::uint64_t warmup, std::uint64_t iterations,
                                         bool is_initiator);

    /// `sends` messages out and `receives` in, at the same time, a window deep. The time runs from the first send until
    /// the other end has said that it has received all.
    Seconds stream(std::uint64_t bytes, std::uint64_t sends, std::uint64_t receives);

  private:
    [[nodiscard]] std::span<std::byte> slot(MemoryRegion& region, std::uint64_t bytes, std::uint64_t index);
    void wait(std::vector<Operation>& operations, std::uint64_t index, const char* what);

    Session& session_;
    std::uint64_t window_;
    MemoryRegion out_;
    MemoryRegion in_;
    std::vector<Operation> sends_;
    std::vector<Operation> receives_;
};

} // namespace verbena::tools
