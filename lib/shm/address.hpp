/// @file
/// The address of a queue pair as it travels to a peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "shm/process.hpp"
#include "wire/types.hpp"

namespace verbena::shm {

/// Fixed layout; both ends run on one host.
struct EndAddress {
    std::uint64_t magic = current_magic;
    ProcessId process{};
    std::uint64_t nonce = 0;  ///< random; the segment's header repeats it
    std::uint64_t header = 0; ///< virtual address of the segment's header in its owner, to try cross-memory attach on
    std::int32_t segment_fd = -1;
    std::int32_t regions_fd = -1;
    std::uint32_t queue_pair = 0;
    std::uint32_t reserved = 0;

    static constexpr std::uint64_t current_magic = 0x3176'6d68'732d'6276; ///< "vb-shmv1"
};
static_assert(sizeof(EndAddress) == 56);

[[nodiscard]] wire::Address pack_address(const EndAddress& address);

/// @throws Error (protocol_violation)
[[nodiscard]] EndAddress unpack_address(std::span<const std::byte> packed);

} // namespace verbena::shm
