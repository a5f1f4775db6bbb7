#include "shm/address.hpp"

#include <cstring>

#include <fmt/format.h>
#include <verbena/error.hpp>

namespace verbena::shm {

wire::Address pack_address(const EndAddress& address) {
    wire::Address packed(sizeof address);
    std::memcpy(packed.data(), &address, sizeof address);
    return packed;
}

EndAddress unpack_address(std::span<const std::byte> packed) {
    EndAddress address;
    if (packed.size() == sizeof address) std::memcpy(&address, packed.data(), sizeof address);
    if (packed.size() != sizeof address || address.magic != EndAddress::current_magic || address.process.pid <= 0) {
        throw Error(ErrorCode::protocol_violation,
                    fmt::format("{} bytes that are not the address of a queue pair in shared memory", packed.size()),
                    "pass on what the other end's address() returned");
    }
    return address;
}

} // namespace verbena::shm
