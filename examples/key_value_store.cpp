/// A key-value store in the memory of rank 0, which the other ranks fill and read by themselves: rank 0's program takes
/// no part. A slot is claimed by compare-and-swap, filled by a put whose signal says that it is whole, and read by one
/// get.
///
///     verbena run -n 4 ./key_value_store
#include <cstdio>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <verbena/verbena.hpp>

namespace {

using verbena::Status;

/// State first: an aligned word that atomics and signals reach.
struct Slot {
    static constexpr std::uint64_t free = 0, claimed = 1, whole = 2;
    std::uint64_t state = free;
    char key[40]{};
    char value[80]{};
};
static_assert(sizeof(Slot) == 128);

void check(const Status& status, const char* what) {
    if (!status.ok()) throw verbena::Error(status.code, std::string(what) + ": " + describe(status));
}

/// One rank's view of the store.
class Store {
  public:
    Store(verbena::Endpoint owner, const verbena::RemoteRegion& slots)
        : owner_(owner), slots_(slots), count_(slots.size() / sizeof(Slot)) {}

    /// False when the key is there already, or the store is full.
    bool insert(const std::string& key, const std::string& value) {
        for (std::uint64_t i = 0; i < count_; ++i) {
            const std::uint64_t at = place(key, i);
            const Slot found = read(at);
            if (found.state == Slot::whole && key == found.key) return false;
            std::uint64_t before = 0;
            check(owner_.compare_and_swap(slots_, at, Slot::free, Slot::claimed, &before).wait(), "claim");
            if (before != Slot::free) { // somebody else's: whoever it is, it will be whole, and may hold our key
                if (found.state != Slot::whole) --i;
                continue;
            }
            Slot mine;
            std::strncpy(mine.key, key.c_str(), sizeof mine.key - 1);
            std::strncpy(mine.value, value.c_str(), sizeof mine.value - 1);
            const auto* const bytes = reinterpret_cast<const std::byte*>(&mine) + sizeof mine.state;
            check(owner_
                      .put_with_signal({bytes, sizeof mine - sizeof mine.state}, slots_, at + sizeof mine.state, slots_,
                                       at, Slot::whole)
                      .wait(),
                  "insert");
            return true;
        }
        return false;
    }

    std::optional<std::string> find(const std::string& key) {
        for (std::uint64_t i = 0; i < count_; ++i) {
            const Slot found = read(place(key, i));
            if (found.state == Slot::free) return {};
            if (found.state == Slot::whole && key == found.key) return found.value;
        }
        return {};
    }

    /// Until everything that was inserted here can be found by others.
    void settle() { check(owner_.flush().wait(), "flush"); }

  private:
    [[nodiscard]] std::uint64_t place(const std::string& key, std::uint64_t probe) const {
        return (std::hash<std::string>()(key) + probe) % count_ * sizeof(Slot);
    }
    [[nodiscard]] Slot read(std::uint64_t at) {
        Slot slot;
        check(owner_.get(std::as_writable_bytes(std::span(&slot, 1)), slots_, at).wait(), "read");
        return slot;
    }

    verbena::Endpoint owner_;
    verbena::RemoteRegion slots_;
    std::uint64_t count_;
};

std::string key_of(std::uint32_t rank, int number) {
    return "key " + std::to_string(number) + " of rank " + std::to_string(rank);
}

} // namespace

int main() try {
    using verbena::Access;
    constexpr int keys_a_rank = 50;
    verbena::Runtime runtime;
    const std::uint32_t rank = runtime.rank(), ranks = runtime.size();
    constexpr Access rights = Access::remote_read | Access::remote_write | Access::remote_atomic;

    std::vector<Slot> slots(rank == 0 ? 4 * keys_a_rank * ranks : 0);
    verbena::MemoryRegion memory;
    std::string invitation;
    if (rank == 0) {
        memory = runtime.register_memory(std::as_writable_bytes(std::span(slots)), Access::local_write | rights);
        const auto bytes = memory.remote(rights).encode();
        invitation.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    invitation = runtime.exchange(invitation)[0]; // everybody gets the region as 56 bytes

    int wrong = 0;
    if (rank != 0) {
        Store store(runtime.endpoint(0),
                    verbena::RemoteRegion::decode(std::as_bytes(std::span(invitation.data(), invitation.size()))));
        for (int i = 0; i < keys_a_rank; ++i) {
            if (!store.insert(key_of(rank, i), "written by " + std::to_string(rank))) ++wrong;
        }
        if (store.insert(key_of(rank, 0), "again")) ++wrong;
        store.settle();
    }
    check(runtime.world().barrier().wait(), "barrier");
    if (rank != 0) {
        Store store(runtime.endpoint(0),
                    verbena::RemoteRegion::decode(std::as_bytes(std::span(invitation.data(), invitation.size()))));
        for (std::uint32_t other = 1; other < ranks; ++other) {
            for (int i = 0; i < keys_a_rank; ++i) {
                if (store.find(key_of(other, i)) != "written by " + std::to_string(other)) ++wrong;
            }
        }
        if (store.find("a key that nobody wrote")) ++wrong;
        std::printf("rank %u: %u keys found, %d wrong\n", rank, (ranks - 1) * keys_a_rank, wrong);
    }
    check(runtime.world().barrier().wait(), "barrier");
    return wrong == 0 ? 0 : 1;
} catch (const verbena::Error& error) {
    std::fprintf(stderr, "%s\n%s\n", error.what(), error.advice().c_str());
    return 1;
}
