#include "sim/device.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/completion_queue.hpp"
#include "sim/queue_pair.hpp"

namespace verbena::sim {

Device::Device(Fabric& fabric, std::uint32_t number, const DeviceOptions& options)
    : fabric_(fabric),
      number_(number),
      personality_(options.personality),
      name_(options.name.empty() ? fmt::format("sim{}", number) : options.name),
      memory_(number, options.personality.offset_addresses) {}

Device::~Device() { fabric_.forget(number_); }

std::string Device::describe() const { return fmt::format("{} ({})", name_, personality_.name); }

std::unique_ptr<wire::CompletionQueue> Device::create_completion_queue(std::uint32_t depth) {
    const std::uint32_t limit = personality_.capabilities.max_completions;
    if (depth > limit) {
        throw Error(
            ErrorCode::exhausted,
            fmt::format("create completion queue on {}: {} entries needed, the limit is {}", describe(), depth, limit),
            "use fewer queue pairs a completion queue, or smaller depths");
    }
    return std::make_unique<CompletionQueue>(*this, depth);
}

std::unique_ptr<wire::QueuePair> Device::create_queue_pair(const wire::QueuePairOptions& options) {
    const auto number = first_queue_pair + static_cast<std::uint32_t>(queue_pairs_.size());
    queue_pairs_.push_back(nullptr);
    auto made = std::make_unique<QueuePair>(*this, number, options);
    queue_pairs_.back() = made.get();
    return made;
}

std::unique_ptr<wire::MemoryRegion> Device::register_memory(std::span<std::byte> memory, Access access) {
    return memory_.add(memory, access);
}

std::size_t Device::poll_async(std::span<wire::AsyncEvent> out) {
    const std::size_t count = std::min(out.size(), async_events_.size());
    std::copy_n(async_events_.begin(), count, out.begin());
    async_events_.erase(async_events_.begin(), async_events_.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
}

void Device::set_link(bool up) {
    if (link_up_ == up) return;
    link_up_ = up;
    raise({up ? wire::AsyncEventKind::port_active : wire::AsyncEventKind::port_error, 1});
}

Time Device::occupy_link(Time earliest, std::uint64_t bytes) {
    link_free_at_ = std::max(earliest, link_free_at_) + fabric_.link().occupancy_ns(bytes);
    return link_free_at_;
}

QueuePair* Device::find_queue_pair(std::uint32_t number) const noexcept {
    const std::uint32_t index = number - first_queue_pair; // below the first it wraps, beyond every index
    return index < queue_pairs_.size() ? queue_pairs_[index] : nullptr;
}

} // namespace verbena::sim
