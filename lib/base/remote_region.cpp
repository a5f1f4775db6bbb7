#include <verbena/remote_region.hpp>

#include <cstring>
#include <string>

#include <verbena/error.hpp>

namespace verbena {
namespace {

constexpr std::uint16_t current_version = 1;
constexpr std::uint32_t all_rights = 15;

enum Flags : std::uint8_t { native_rma = 1, native_atomics = 2 };

/// The bytes of encode(): little-endian, as every host that verbena builds for.
struct Layout {
    std::uint16_t version = current_version;
    std::uint8_t flags = 0;
    std::uint8_t rights = 0;
    std::uint32_t owner = 0;
    std::uint64_t job = 0;
    std::uint64_t memory = 0;
    std::uint64_t length = 0;
    std::uint64_t address = 0;
    std::uint64_t rkey = 0;
    std::uint64_t handle = 0;
};
static_assert(sizeof(Layout) == RemoteRegion::encoded_bytes && offsetof(Layout, job) == 8);

} // namespace

RemoteRegion::Encoded RemoteRegion::encode() const noexcept {
    Layout layout;
    if (fields_.native_rma) layout.flags |= native_rma;
    if (fields_.native_atomics) layout.flags |= native_atomics;
    layout.rights = static_cast<std::uint8_t>(fields_.rights);
    layout.owner = fields_.owner;
    layout.job = fields_.job;
    layout.memory = fields_.memory;
    layout.length = fields_.length;
    layout.address = fields_.address;
    layout.rkey = fields_.rkey;
    layout.handle = fields_.handle;
    Encoded encoded;
    std::memcpy(encoded.data(), &layout, sizeof layout);
    return encoded;
}

RemoteRegion RemoteRegion::decode(std::span<const std::byte> bytes) {
    Layout layout;
    const bool is_whole = bytes.size() == encoded_bytes;
    if (is_whole) std::memcpy(&layout, bytes.data(), sizeof layout);
    const bool is_sound = layout.version == current_version && layout.flags <= (native_rma | native_atomics) &&
                          layout.rights <= all_rights && layout.length <= UINT64_MAX - layout.memory &&
                          layout.length <= UINT64_MAX - layout.address;
    if (!is_whole || !is_sound) {
        throw Error(ErrorCode::protocol_violation,
                    "these " + std::to_string(bytes.size()) + " bytes are no remote region of this version",
                    "give decode() the bytes of encode(), and run one version on every host");
    }
    Fields fields;
    fields.job = layout.job;
    fields.owner = layout.owner;
    fields.rights = static_cast<Access>(layout.rights);
    fields.native_rma = (layout.flags & native_rma) != 0;
    fields.native_atomics = (layout.flags & native_atomics) != 0;
    fields.memory = layout.memory;
    fields.length = layout.length;
    fields.address = layout.address;
    fields.rkey = layout.rkey;
    fields.handle = layout.handle;
    return RemoteRegion(fields);
}

} // namespace verbena
