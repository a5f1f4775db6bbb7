#include "sim/memory.hpp"

#include <cerrno>
#include <vector>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <verbena/error.hpp>

namespace verbena::sim {
namespace {

// A key is kind, device, number. The two kinds differ, so that an lkey sent to a peer as an rkey is refused.
constexpr std::uint64_t local_kind = 0x4c000000;
constexpr std::uint64_t remote_kind = 0x52000000;

std::uint64_t make_key(std::uint64_t kind, std::uint32_t device, std::uint64_t number) {
    return ((kind | device) << 32) | number;
}

constexpr std::uint64_t number_of(std::uint64_t key) { return key & 0xffffffffu; }

bool is_mapped(std::span<const std::byte> memory) {
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto first = reinterpret_cast<std::uintptr_t>(memory.data()) / page * page;
    const auto end = reinterpret_cast<std::uintptr_t>(memory.data()) + memory.size();
    std::vector<unsigned char> resident((end - first + page - 1) / page);
    return mincore(reinterpret_cast<void*>(first), end - first, resident.data()) == 0; // ENOMEM: a hole
}

/// [address, address + length) lies in [base, base + size), without wrapping around.
bool is_inside(std::uint64_t address, std::uint64_t length, std::uint64_t base, std::uint64_t size) {
    return address >= base && length <= size && address - base <= size - length;
}

} // namespace

class Registration final : public wire::MemoryRegion {
  public:
    Registration(MemoryTable& table, std::uint64_t number) : table_(table), number_(number) {}
    ~Registration() override { table_.entries_.erase(number_); }

    std::span<std::byte> bytes() const override { return entry().bytes; }
    wire::LocalKey lkey() const override { return {make_key(local_kind, table_.device_, number_)}; }
    wire::RemoteKey rkey() const override { return {make_key(remote_kind, table_.device_, number_)}; }
    std::uint64_t remote_address(const std::byte* byte) const override {
        return entry().base + static_cast<std::uint64_t>(byte - entry().bytes.data());
    }

  private:
    const MemoryTable::Entry& entry() const { return table_.entries_.at(number_); }

    MemoryTable& table_;
    std::uint64_t number_;
};

std::unique_ptr<wire::MemoryRegion> MemoryTable::add(std::span<std::byte> memory, Access access) {
    if (memory.empty()) {
        throw Error(ErrorCode::invalid_argument, "register memory: 0 bytes", "register at least one byte");
    }
    if (!is_mapped(memory)) {
        throw Error(ErrorCode::refused,
                    fmt::format("register memory: {} bytes at {} are not all mapped", memory.size(),
                                static_cast<const void*>(memory.data())),
                    "register memory while it is allocated", {Origin::system_errno, EFAULT, 0});
    }
    const std::uint64_t number = next_++;
    const auto base = offset_addresses_ ? 0 : reinterpret_cast<std::uint64_t>(memory.data());
    entries_.emplace(number, Entry{memory, access, base});
    return std::make_unique<Registration>(*this, number);
}

bool MemoryTable::allows_local(const wire::Sge& sge, Access access) const {
    const auto found = entries_.find(number_of(sge.lkey.value));
    if (found == entries_.end() || sge.lkey.value != make_key(local_kind, device_, found->first)) return false;
    const Entry& entry = found->second;
    return allows(entry.access, access) &&
           is_inside(reinterpret_cast<std::uint64_t>(sge.address), sge.length,
                     reinterpret_cast<std::uint64_t>(entry.bytes.data()), entry.bytes.size());
}

std::byte* MemoryTable::translate(wire::RemoteAddress remote, std::uint64_t length, Access access) const {
    const auto found = entries_.find(number_of(remote.rkey.value));
    if (found == entries_.end() || remote.rkey.value != make_key(remote_kind, device_, found->first)) return nullptr;
    const Entry& entry = found->second;
    if (!allows(entry.access, access) || !is_inside(remote.address, length, entry.base, entry.bytes.size())) {
        return nullptr;
    }
    return entry.bytes.data() + (remote.address - entry.base);
}

} // namespace verbena::sim
