#include "shm/device.hpp"

#include <fmt/format.h>
#include <verbena/error.hpp>

#include "shm/completion_queue.hpp"
#include "shm/memory_region.hpp"
#include "shm/queue_pair.hpp"

namespace verbena::shm {
namespace {

wire::Capabilities shm_capabilities() {
    wire::Capabilities capabilities;
    capabilities.atomics = false;
    capabilities.needs_local_key = false;
    capabilities.manual_progress = true; // where READ and WRITE go through the ring
    capabilities.max_message_bytes = max_message_bytes;
    capabilities.max_completions = max_completions;
    return capabilities;
}

} // namespace

Device::Device(RemoteAccess remote_access)
    : process_(own_process()), remote_access_(remote_access), capabilities_(shm_capabilities()) {}

std::string Device::describe() const { return fmt::format("shm process {}", process_.pid); }

std::unique_ptr<wire::CompletionQueue> Device::create_completion_queue(std::uint32_t depth) {
    if (depth > max_completions) {
        throw Error(ErrorCode::exhausted,
                    fmt::format("a completion queue on {} holds at most {} entries, {} were asked for", describe(),
                                max_completions, depth),
                    "lower send-depth or receive-window");
    }
    return std::make_unique<CompletionQueue>(depth);
}

std::unique_ptr<wire::QueuePair> Device::create_queue_pair(const wire::QueuePairOptions& options) {
    return std::make_unique<QueuePair>(*this, ++last_queue_pair_, options);
}

std::unique_ptr<wire::MemoryRegion> Device::register_memory(std::span<std::byte> memory, Access access) {
    if (memory.empty()) throw Error(ErrorCode::invalid_argument, fmt::format("no bytes to register on {}", describe()));
    return std::make_unique<MemoryRegion>(regions_, memory, access);
}

} // namespace verbena::shm
