#pragma once

#include <cstdint>

#include <verbena/device.hpp>

#include "verbs/address.hpp"
#include "verbs/handles.hpp"
#include "wire/device.hpp"

namespace verbena::verbs {

/// One context with its protection domain, on one port and GID. Progress-thread only.
class Device final : public wire::Device {
  public:
    /// @throws Error (unavailable) naming the missing link, the port's state, or the empty GID
    explicit Device(const Selection& selection);

    const wire::Capabilities& capabilities() const override { return capabilities_; }
    const wire::Accounting& accounting() const override { return accounting_; }
    std::string describe() const override;
    std::unique_ptr<wire::CompletionQueue> create_completion_queue(std::uint32_t depth) override;
    std::unique_ptr<wire::QueuePair> create_queue_pair(const wire::QueuePairOptions& options) override;
    std::unique_ptr<wire::MemoryRegion> register_memory(std::span<std::byte> memory, Access access) override;
    std::size_t poll_async(std::span<wire::AsyncEvent> out) override;

    [[nodiscard]] ibv_context& context() noexcept { return *context_; }
    [[nodiscard]] ibv_pd& protection_domain() noexcept { return *protection_domain_; }
    [[nodiscard]] const ibv_device_attr& attributes() const noexcept { return attributes_; }
    /// Its queue pairs are UD ones; else RC.
    [[nodiscard]] bool is_datagram() const noexcept { return !capabilities_.connected; }
    [[nodiscard]] std::uint16_t pkey_index() const noexcept { return pkey_index_; }

    /// This end of every queue pair; number, PSN and read depth are the queue pair's own.
    [[nodiscard]] const QueuePairAddress& endpoint() const noexcept { return endpoint_; }

    /// The library said so while polling; poll_async() passes it on once.
    void note_broken_completion_queue() noexcept { broken_completion_queue_ = true; }
    /// Queue pairs alive on this device.
    std::uint32_t& queue_pair_count() noexcept { return queue_pairs_; }

  private:
    void query_device();
    void query_port(const Selection& selection);
    void take_gid(const PortInfo& port, int index);
    void choose_partition();
    void become_datagram();

    Context context_;
    ProtectionDomain protection_domain_;
    ibv_device_attr attributes_{};
    wire::Capabilities capabilities_;
    wire::Accounting accounting_;
    QueuePairAddress endpoint_;
    std::uint16_t pkey_table_length_ = 0;
    std::uint16_t pkey_index_ = 0;
    std::uint32_t queue_pairs_ = 0;
    bool broken_completion_queue_ = false;
};

[[nodiscard]] std::unique_ptr<wire::Device> open_device(const Selection& selection);

} // namespace verbena::verbs
