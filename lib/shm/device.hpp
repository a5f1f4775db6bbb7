#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "shm/process.hpp"
#include "shm/region_table.hpp"
#include "wire/device.hpp"

namespace verbena::shm {

/// Entries that one completion queue may have: memory of ours, so a matter of taste.
inline constexpr std::uint32_t max_completions = 1u << 20;
/// Lengths of one request and of one completion are 32 bits in lib/wire.
inline constexpr std::uint64_t max_message_bytes = UINT32_MAX;
/// Largest inline payload granted: each request keeps a copy while the ring is full.
inline constexpr std::uint32_t max_inline_bytes = 256;

/// Whether READ and WRITE may use cross-memory attach where it works.
enum class RemoteAccess : std::uint8_t { attach_if_allowed, through_the_ring };

/// Shared memory of one host. Progress-thread only.
class Device final : public wire::Device {
  public:
    /// @throws Error
    explicit Device(RemoteAccess remote_access = RemoteAccess::attach_if_allowed);

    [[nodiscard]] const wire::Capabilities& capabilities() const override { return capabilities_; }
    [[nodiscard]] const wire::Accounting& accounting() const override { return accounting_; }
    [[nodiscard]] std::string describe() const override;
    std::unique_ptr<wire::CompletionQueue> create_completion_queue(std::uint32_t depth) override;
    std::unique_ptr<wire::QueuePair> create_queue_pair(const wire::QueuePairOptions& options) override;
    std::unique_ptr<wire::MemoryRegion> register_memory(std::span<std::byte> memory, Access access) override;
    /// A peer that ends is reported at the request that meets it.
    std::size_t poll_async(std::span<wire::AsyncEvent>) override { return 0; }

    [[nodiscard]] const ProcessId& process() const noexcept { return process_; }
    [[nodiscard]] const RegionTable& regions() const noexcept { return regions_; }
    [[nodiscard]] bool is_attach_off() const noexcept { return remote_access_ == RemoteAccess::through_the_ring; }

  private:
    const ProcessId process_;
    const RemoteAccess remote_access_;
    RegionTable regions_;
    wire::Capabilities capabilities_;
    wire::Accounting accounting_{wire::Retirement::through_completion, true};
    std::uint32_t last_queue_pair_ = 0x10;
};

} // namespace verbena::shm
