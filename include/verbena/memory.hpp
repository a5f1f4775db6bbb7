/// @file
/// Memory that operations may touch: what kind it is, what peers may do with it, and who owns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include <verbena/export.hpp>

namespace verbena {

class RemoteRegion;

/// Where memory lives. `device` and `managed` need the CUDA plug-in.
enum class MemoryKind : std::uint8_t {
    host,    ///< ordinary process memory
    pinned,  ///< page-locked host memory known to the GPU driver
    device,  ///< memory of a GPU
    managed, ///< CUDA managed memory: moves between host and GPU
};

[[nodiscard]] VERBENA_API std::string_view name(MemoryKind kind) noexcept;

/// What a registration allows. Local read is always allowed. Least-needed: messages need `local_write` at the receiver
/// and `remote_read` at the sender (large messages are fetched by RDMA READ); get needs `remote_read` at the owner, put
/// `remote_write`, atomics `remote_atomic`.
enum class Access : std::uint32_t {
    none = 0,
    local_write = 1,
    remote_read = 2,
    remote_write = 4,
    remote_atomic = 8,
    messages = local_write | remote_read, ///< enough for send, receive and collectives
};

constexpr Access operator|(Access a, Access b) noexcept {
    return static_cast<Access>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}
constexpr bool allows(Access granted, Access wanted) noexcept {
    return (static_cast<std::uint32_t>(granted) & static_cast<std::uint32_t>(wanted)) ==
           static_cast<std::uint32_t>(wanted);
}

/// Registered memory. Move-only owner of the registration, and of the memory itself when Runtime::allocate made it. A
/// moved-from region is empty. It must outlive every operation that uses its bytes, and not outlive its Runtime. One
/// caller at a time.
class VERBENA_API MemoryRegion {
  public:
    MemoryRegion() noexcept;
    MemoryRegion(MemoryRegion&&) noexcept;
    MemoryRegion& operator=(MemoryRegion&&) noexcept;
    ~MemoryRegion();

    [[nodiscard]] std::byte* data() const noexcept;
    [[nodiscard]] std::size_t size() const noexcept; ///< bytes
    [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {data(), size()}; }
    [[nodiscard]] MemoryKind kind() const noexcept;
    [[nodiscard]] Access access() const noexcept;
    explicit operator bool() const noexcept { return impl_ != nullptr; }

    /// What a peer needs to reach this memory with these rights, which the registration must have. The value is a
    /// capability for as long as the region lives: rights are kept where the region was registered with no more.
    /// @throws Error (invalid_argument) for rights that the registration lacks, (unavailable) for memory of a kind that
    /// the device cannot reach.
    [[nodiscard]] RemoteRegion remote(Access rights) const;

    struct Impl;
    explicit MemoryRegion(std::unique_ptr<Impl> impl) noexcept;

  private:
    std::unique_ptr<Impl> impl_;
};

} // namespace verbena
