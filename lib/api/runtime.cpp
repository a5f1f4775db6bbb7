#include <verbena/runtime.hpp>

#include <utility>

#include <fmt/format.h>

#include "api/memory_impl.hpp"
#include "api/runtime_core.hpp"

namespace verbena {

Runtime::Runtime(const Settings& settings) : core_(std::make_unique<detail::RuntimeCore>(settings)) {}
Runtime::Runtime(Runtime&&) noexcept = default;
Runtime& Runtime::operator=(Runtime&&) noexcept = default;
Runtime::~Runtime() = default;

std::uint32_t Runtime::rank() const noexcept { return core_->job.rank; }
std::uint32_t Runtime::size() const noexcept { return core_->job.size; }
const Selection& Runtime::selection() const noexcept { return core_->selection; }
const Settings& Runtime::settings() const noexcept { return core_->settings; }
Group Runtime::world() noexcept { return Group(core_->world); }
std::size_t Runtime::progress() { return core_->progress(); }
void Runtime::close() noexcept {
    if (core_) core_->close(); // none in one that was moved from
}

Endpoint Runtime::endpoint(std::uint32_t rank) {
    if (rank >= size() || rank == this->rank()) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("rank {} is no peer of rank {} in a job of {}", rank, this->rank(), size()));
    }
    return {core_.get(), rank};
}

MemoryRegion Runtime::register_memory(std::span<std::byte> memory, Access access) {
    const detail::Gate::Pass pass = core_->gate->enter();
    auto impl = std::make_unique<MemoryRegion::Impl>();
    impl->gate = core_->gate;
    impl->spaces = core_->spaces;
    impl->device = core_->device;
    impl->registration = core_->open_engine().register_memory(memory, access);
    impl->bytes = memory;
    impl->kind = core_->spaces->classify(memory.data()).kind;
    impl->access = access;
    return MemoryRegion(std::move(impl));
}

MemoryRegion Runtime::allocate(std::size_t bytes, MemoryKind kind, int gpu, Access access) {
    if (bytes == 0) throw Error(ErrorCode::invalid_argument, "cannot allocate a region of 0 bytes");
    const detail::Gate::Pass pass = core_->gate->enter();
    msg::Engine& engine = core_->open_engine();
    auto impl = std::make_unique<MemoryRegion::Impl>();
    impl->gate = core_->gate;
    impl->spaces = core_->spaces;
    impl->device = core_->device;
    impl->kind = kind;
    impl->access = access;
    mem::Space& space = core_->spaces->space(kind);
    impl->bytes = {space.allocate(bytes, gpu), bytes};
    impl->owner = &space;
    impl->registration = engine.register_memory(impl->bytes, access);
    return MemoryRegion(std::move(impl));
}

GpuKernels& Runtime::gpu_kernels() { return core_->spaces->kernels(); }

void Runtime::copy(void* destination, const void* source, std::size_t bytes) {
    auto* to = static_cast<std::byte*>(destination);
    const auto* from = static_cast<const std::byte*>(source);
    const mem::Classification target = core_->spaces->classify(to);
    const mem::Classification origin = core_->spaces->classify(from);
    for (const auto* found : {&target, &origin}) {
        if (!found->problem.empty()) throw Error(ErrorCode::invalid_argument, found->problem);
    }
    // A space copies between its own kind and any that the CPU can touch, so the one that it cannot touch does it.
    mem::Space& to_space = core_->spaces->space(target.kind);
    mem::Space& from_space = core_->spaces->space(origin.kind);
    (to_space.is_host_accessible() ? from_space : to_space).copy(to, from, bytes);
}

std::vector<std::string> Runtime::exchange(std::string_view value) {
    const detail::Gate::Pass pass = core_->gate->enter();
    if (!core_->store) return {std::string(value)};
    return core_->store->exchange("user", value,
                                  detail::RuntimeCore::Clock::now() + core_->settings.duration("operation-timeout"));
}

} // namespace verbena
