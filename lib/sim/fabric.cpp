#include "sim/fabric.hpp"

#include <algorithm>

#include "sim/device.hpp"
#include "sim/queue_pair.hpp"

namespace verbena::sim {

Fabric::Fabric(std::uint64_t seed, const FabricOptions& options)
    : random_(seed), link_(options.link), faults_(options.faults) {}

Fabric::~Fabric() = default;

std::unique_ptr<wire::Device> Fabric::device(const DeviceOptions& options) {
    const auto number = static_cast<std::uint32_t>(devices_.size());
    auto made = std::make_unique<Device>(*this, number, options);
    devices_.push_back(made.get());
    return made;
}

bool Fabric::step() {
    if (events_.is_empty()) return false;
    const Event event = events_.pop();
    now_ = event.time;
    trace(event);
    Device* const device = find(event.device);
    if (device == nullptr || !device->is_alive()) return true;
    if (QueuePair* const queue_pair = device->find_queue_pair(event.queue_pair)) queue_pair->handle(event);
    return true;
}

void Fabric::run_until_idle() {
    while (step()) {
    }
}

void Fabric::run_until(Time time) {
    while (!events_.is_empty() && events_.next_time() <= time) step();
    now_ = std::max(now_, time);
}

void Fabric::kill(wire::Device& device) { dynamic_cast<Device&>(device).kill(); }

void Fabric::set_link(wire::Device& device, bool up) { dynamic_cast<Device&>(device).set_link(up); }

void Fabric::schedule(Time at, Event event) {
    event.time = at;
    events_.push(event);
}

Device* Fabric::find(std::uint32_t device) const noexcept {
    return device < devices_.size() ? devices_[device] : nullptr;
}

QueuePair* Fabric::reach(const Device& from, std::uint32_t device, std::uint32_t queue_pair) const noexcept {
    Device* const to = find(device);
    if (to == nullptr || !to->is_alive() || !to->is_link_up() || !from.is_link_up()) return nullptr;
    return to->find_queue_pair(queue_pair);
}

void Fabric::trace(const Event& event) noexcept {
    ++events_executed_;
    const std::uint64_t words[] = {event.time,   static_cast<std::uint64_t>(event.kind),
                                   event.device, event.queue_pair,
                                   event.stream, event.message};
    for (const std::uint64_t word : words) {
        trace_hash_ ^= word;
        trace_hash_ *= 0x100000001b3u; // FNV-1a, a word at a time
        trace_hash_ ^= trace_hash_ >> 29;
    }
}

} // namespace verbena::sim
