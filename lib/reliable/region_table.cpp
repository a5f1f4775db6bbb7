#include "reliable/region_table.hpp"

#include <verbena/error.hpp>

namespace verbena::reliable {

class RegionTable::Region final : public wire::MemoryRegion {
  public:
    Region(RegionTable& table, std::uint32_t index)
        : table_(table), index_(index), bytes_(table.entries_[index].bytes) {
        key_ = static_cast<std::uint64_t>(table.entries_[index].secret) << 32 | index;
    }
    ~Region() override {
        table_.entries_[index_] = {};
        table_.free_.push_back(index_);
    }
    std::span<std::byte> bytes() const override { return bytes_; }
    wire::LocalKey lkey() const override { return {}; }
    wire::RemoteKey rkey() const override { return {key_}; }
    std::uint64_t remote_address(const std::byte* byte) const override {
        return reinterpret_cast<std::uintptr_t>(byte);
    }

  private:
    RegionTable& table_;
    std::uint32_t index_;
    std::span<std::byte> bytes_;
    std::uint64_t key_;
};

std::unique_ptr<wire::MemoryRegion> RegionTable::add(std::span<std::byte> memory, Access access, std::uint32_t random) {
    if (memory.empty()) throw Error(ErrorCode::invalid_argument, "no bytes cannot be registered");
    if (free_.empty()) {
        entries_.emplace_back();
        free_.push_back(static_cast<std::uint32_t>(entries_.size() - 1));
        free_.reserve(entries_.capacity());
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    entries_[index] = {memory, access, random};
    return std::make_unique<Region>(*this, index);
}

std::byte* RegionTable::translate(std::uint64_t rkey, std::uint64_t address, std::uint64_t length,
                                  Access access) const noexcept {
    const auto index = static_cast<std::uint32_t>(rkey);
    if (index >= entries_.size()) return nullptr;
    const Entry& entry = entries_[index];
    if (entry.bytes.empty() || entry.secret != rkey >> 32 || !allows(entry.access, access)) return nullptr;
    const auto start = reinterpret_cast<std::uintptr_t>(entry.bytes.data());
    if (address < start || address - start > entry.bytes.size() || length > entry.bytes.size() - (address - start)) {
        return nullptr;
    }
    return entry.bytes.data() + (address - start);
}

} // namespace verbena::reliable
