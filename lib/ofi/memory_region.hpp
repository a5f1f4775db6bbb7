#pragma once

#include <string>

#include <verbena/memory.hpp>

#include "wire/memory_region.hpp"

#include "ofi/handle.hpp"

namespace verbena::ofi {

/// A registration with one domain. Where the application chooses keys they are random 64-bit numbers: libfabric's TCP
/// has no other protection against a stranger who connects.
class MemoryRegion final : public wire::MemoryRegion {
  public:
    MemoryRegion(fid_domain& domain, const fi_info& info, const std::string& device, std::span<std::byte> memory,
                 Access access);

    [[nodiscard]] std::span<std::byte> bytes() const override { return memory_; }
    [[nodiscard]] wire::LocalKey lkey() const override {
        return {reinterpret_cast<std::uint64_t>(fi_mr_desc(region_.get()))};
    }
    [[nodiscard]] wire::RemoteKey rkey() const override { return {fi_mr_key(region_.get())}; }
    [[nodiscard]] std::uint64_t remote_address(const std::byte* byte) const override {
        return reinterpret_cast<std::uint64_t>(byte) - base_;
    }

  private:
    std::span<std::byte> memory_;
    std::uint64_t base_; ///< 0 where peers use virtual addresses, else the address of offset 0
    Handle<fid_mr> region_;
};

} // namespace verbena::ofi
