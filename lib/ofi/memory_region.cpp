#include "ofi/memory_region.hpp"

#include <sys/random.h>
#include <sys/resource.h>

#include <fmt/format.h>
#include <rdma/fi_errno.h>

#include "ofi/errors.hpp"

namespace verbena::ofi {
namespace {

/// Local rights are asked for only where local buffers must be registered: ofi_rxm grants FI_REMOTE_READ with FI_SEND
/// and hands out more than was meant. A region without remote rights still needs one right to be valid.
std::uint64_t rights_of(Access access, bool is_local_needed) {
    std::uint64_t rights = 0;
    if (allows(access, Access::remote_read)) rights |= FI_REMOTE_READ;
    if (allows(access, Access::remote_write)) rights |= FI_REMOTE_WRITE;
    if (allows(access, Access::remote_atomic)) rights |= FI_REMOTE_READ | FI_REMOTE_WRITE;
    if (is_local_needed) {
        rights |= FI_SEND | FI_WRITE;
        if (allows(access, Access::local_write)) rights |= FI_RECV | FI_READ;
    }
    return rights != 0 ? rights : FI_WRITE;
}

/// @param size bytes of a key that the provider carries.
std::uint64_t random_key(std::size_t size) {
    std::uint64_t key = 0;
    if (getrandom(&key, std::min(size, sizeof(key)), 0) < 0) throw Error(ErrorCode::unavailable, "getrandom failed");
    return key;
}

[[noreturn]] void throw_refused(const std::string& device, std::size_t bytes, long result) {
    rlimit limit{};
    getrlimit(RLIMIT_MEMLOCK, &limit);
    const bool unlimited = limit.rlim_cur == RLIM_INFINITY;
    throw_error("fi_mr_reg", fmt::format("{}, {} bytes", device, bytes), result,
                unlimited
                    ? "the limit is the device's: register less at a time"
                    : fmt::format("RLIMIT_MEMLOCK is {} bytes; a provider that locks memory needs at least {}: ulimit "
                                  "-l unlimited",
                                  limit.rlim_cur, bytes));
}

} // namespace

MemoryRegion::MemoryRegion(fid_domain& domain, const fi_info& info, const std::string& device,
                           std::span<std::byte> memory, Access access)
    : memory_(memory),
      base_((info.domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0 ? 0 : reinterpret_cast<std::uint64_t>(memory.data())) {
    if (memory.empty()) throw Error(ErrorCode::invalid_argument, fmt::format("no bytes to register on {}", device));
    const bool chooses_key = (info.domain_attr->mr_mode & FI_MR_PROV_KEY) == 0;
    fid_mr* region = nullptr;
    long result = 0;
    // A key that is taken comes back as FI_ENOKEY; with 64 random bits the second try is already a rarity.
    for (int attempt = 0; attempt < 8; ++attempt) {
        const std::uint64_t key = chooses_key ? random_key(info.domain_attr->mr_key_size) : 0;
        result =
            fi_mr_reg(&domain, memory.data(), memory.size(),
                      rights_of(access, (info.domain_attr->mr_mode & FI_MR_LOCAL) != 0), 0, key, 0, &region, nullptr);
        if (result != -FI_ENOKEY) break;
    }
    if (result != 0) throw_refused(device, memory.size(), result);
    region_.reset(region);
}

} // namespace verbena::ofi
