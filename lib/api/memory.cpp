#include <verbena/memory.hpp>

#include <utility>

#include <verbena/error.hpp>
#include <verbena/remote_region.hpp>

#include "api/memory_impl.hpp"

namespace verbena {

MemoryRegion::Impl::~Impl() {
    const detail::Gate::Pass pass = gate ? gate->enter_quietly() : detail::Gate::Pass{};
    registration.reset();
    if (owner != nullptr) owner->release(bytes.data());
}

MemoryRegion::MemoryRegion() noexcept = default;
MemoryRegion::MemoryRegion(MemoryRegion&&) noexcept = default;
MemoryRegion& MemoryRegion::operator=(MemoryRegion&&) noexcept = default;
MemoryRegion::~MemoryRegion() = default;
MemoryRegion::MemoryRegion(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}

std::byte* MemoryRegion::data() const noexcept { return impl_ ? impl_->bytes.data() : nullptr; }
std::size_t MemoryRegion::size() const noexcept { return impl_ ? impl_->bytes.size() : 0; }
MemoryKind MemoryRegion::kind() const noexcept { return impl_ ? impl_->kind : MemoryKind::host; }
Access MemoryRegion::access() const noexcept { return impl_ ? impl_->access : Access::none; }

RemoteRegion MemoryRegion::remote(Access rights) const {
    if (!impl_) throw Error(ErrorCode::invalid_argument, "this region is empty", "register memory first");
    return impl_->registration->remote(rights);
}

} // namespace verbena
