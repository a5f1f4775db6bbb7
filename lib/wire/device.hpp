#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <verbena/memory.hpp>

#include "wire/capabilities.hpp"
#include "wire/completion_queue.hpp"
#include "wire/memory_region.hpp"
#include "wire/queue_pair.hpp"
#include "wire/types.hpp"

namespace verbena::wire {

/// An opened device (with port and GID where it has them). It outlives all that it made. Set-up calls throw Error;
/// nothing here is on the hot path.
class Device {
  public:
    virtual ~Device() = default;

    [[nodiscard]] virtual const Capabilities& capabilities() const = 0;
    [[nodiscard]] virtual const Accounting& accounting() const = 0;
    [[nodiscard]] virtual std::string describe() const = 0; ///< "rxe1 port 1 GID 1 ::ffff:10.9.0.1 (RoCE v2)"

    /// @param depth entries asked for. @throws Error (exhausted) naming size and need.
    virtual std::unique_ptr<CompletionQueue> create_completion_queue(std::uint32_t depth) = 0;
    virtual std::unique_ptr<QueuePair> create_queue_pair(const QueuePairOptions& options) = 0;

    /// @throws Error naming the limit (RLIMIT_MEMLOCK, device), its value and the need.
    virtual std::unique_ptr<MemoryRegion> register_memory(std::span<std::byte> memory, Access access) = 0;

    /// Fills the front of `out` with what happened apart from completions; returns how many. Never blocks.
    virtual std::size_t poll_async(std::span<AsyncEvent> out) = 0;
};

} // namespace verbena::wire
