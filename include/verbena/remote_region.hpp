/// @file
/// A peer's memory, as a value: what one rank gives another so that it may put, get and count there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <verbena/export.hpp>
#include <verbena/memory.hpp>

namespace verbena {

/// Names registered memory of one rank and what may be done there. MemoryRegion::remote() makes it; encode() turns it
/// into bytes for a message or Runtime::exchange(), decode() reads them at the peer. A plain value: copy it freely.
///
/// It owns nothing: once its MemoryRegion is gone it names nothing, and what is tried on it ends with code refused. It
/// holds for the job that made it, and for operations on the endpoint of its owner. The bytes are a capability: who
/// has them can use the region as far as the registration allows.
class VERBENA_API RemoteRegion {
  public:
    static constexpr std::size_t encoded_bytes = 56;
    using Encoded = std::array<std::byte, encoded_bytes>;

    RemoteRegion() noexcept = default; ///< names nothing: operations on it end with invalid_argument

    [[nodiscard]] std::uint32_t owner() const noexcept { return fields_.owner; } ///< rank
    [[nodiscard]] std::uint64_t size() const noexcept { return fields_.length; } ///< bytes
    [[nodiscard]] Access rights() const noexcept { return fields_.rights; }
    explicit operator bool() const noexcept { return fields_.length > 0; }

    /// Little-endian, fixed layout, with a version ahead.
    [[nodiscard]] Encoded encode() const noexcept;
    /// @throws Error (protocol_violation) for bytes that encode() does not make.
    [[nodiscard]] static RemoteRegion decode(std::span<const std::byte> bytes);

    /// What it is made of. For the library; a program has no use for it.
    struct Fields {
        std::uint64_t job = 0;   ///< the job that it belongs to
        std::uint32_t owner = 0; ///< rank
        Access rights = Access::none;
        bool native_rma = false;     ///< put and get are RDMA WRITE and READ; else the owner's engine does them
        bool native_atomics = false; ///< likewise atomics: one or the other for all, since they do not mix
        std::uint64_t memory = 0;    ///< virtual address of the first byte, at the owner
        std::uint64_t length = 0;    ///< bytes
        std::uint64_t address = 0;   ///< of the first byte, as the owner's provider wants it said
        std::uint64_t rkey = 0;
        std::uint64_t handle = 0; ///< names it to the owner's engine

        friend bool operator==(const Fields&, const Fields&) = default;
    };
    explicit RemoteRegion(const Fields& fields) noexcept : fields_(fields) {}
    [[nodiscard]] const Fields& fields() const noexcept { return fields_; }

    friend bool operator==(const RemoteRegion&, const RemoteRegion&) = default;

  private:
    Fields fields_{};
};

} // namespace verbena
