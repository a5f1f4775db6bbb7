#include "reliable/device.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "reliable/completion_queue.hpp"
#include "reliable/packet.hpp"
#include "reliable/queue_pair.hpp"

namespace verbena::reliable {
namespace {

constexpr std::uint32_t most_completions = 1u << 22;

} // namespace

Device::Device(std::unique_ptr<wire::Device> datagrams, Options options)
    : datagrams_(std::move(datagrams)), options_(std::move(options)), random_state_(options_.seed) {
    const wire::Capabilities& below = datagrams_->capabilities();
    if (below.connected || below.max_message_bytes < 4 * header_bytes ||
        datagrams_->accounting().retirement == wire::Retirement::each_completion) {
        throw Error(ErrorCode::invalid_argument, datagrams_->describe() + ": it has no queue pairs for datagrams");
    }
    capabilities_.connected = false;
    capabilities_.reliable = true;
    capabilities_.ordered = true;
    capabilities_.rdma_read = true;
    capabilities_.rdma_write = true;
    capabilities_.write_with_imm = false;
    capabilities_.atomics = false;
    capabilities_.native_fence = false;
    capabilities_.needs_local_key = false;
    capabilities_.manual_progress = true;
    capabilities_.waits_for_receive = true;
    capabilities_.max_message_bytes = 1u << 30;
    capabilities_.max_completions = most_completions;
    accounting_.retirement = wire::Retirement::each_completion;
}

Device::~Device() = default;

std::string Device::describe() const { return datagrams_->describe(); }

std::unique_ptr<wire::CompletionQueue> Device::create_completion_queue(std::uint32_t depth) {
    if (depth > most_completions) {
        throw Error(ErrorCode::exhausted, fmt::format("{}: {} completion queue entries needed, the limit is {}",
                                                      describe(), depth, most_completions));
    }
    return std::make_unique<CompletionQueue>(depth);
}

std::unique_ptr<wire::QueuePair> Device::create_queue_pair(const wire::QueuePairOptions& options) {
    return std::make_unique<QueuePair>(*this, options);
}

std::unique_ptr<wire::MemoryRegion> Device::register_memory(std::span<std::byte> memory, Access access) {
    return regions_.add(memory, access, static_cast<std::uint32_t>(random()));
}

std::size_t Device::poll_async(std::span<wire::AsyncEvent> out) {
    const std::size_t own = std::min(out.size(), events_.size());
    std::copy_n(events_.begin(), own, out.begin());
    events_.erase(events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(own));
    return own + datagrams_->poll_async(out.subspan(own));
}

/// SplitMix64.
std::uint64_t Device::random() noexcept {
    std::uint64_t value = random_state_ += 0x9e3779b97f4a7c15u;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
    value = (value ^ value >> 27) * 0x94d049bb133111ebu;
    return value ^ value >> 31;
}

} // namespace verbena::reliable
