/// @file
/// A ring of records in shared memory: one producer in one process, one consumer in another. Hot path.
///
/// A record is a slot: a descriptor and up to two cache lines; a longer payload lies in a ring of bytes beside it.
/// Slots have fixed places, and payload never lies where a descriptor is read: no payload can look like a new record.
///
/// Written by the producer: slots and bytes. Written by the consumer: one index, on a line of its own, which the
/// producer reads only when its copy says that the ring is full. A small message thus moves one cache line from core to
/// core.
///
/// Neither side believes the other. Everything that has to be believed is kept in private memory: the consumer knows
/// itself where the next record and its bytes are, and reads from the slot a kind and a length, once, and checks them;
/// the producer checks that the consumer's index lies between what it saw last and what it produced. Bytes that a
/// hostile peer changes while they are copied are a message of its choice, as if it had sent that one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace verbena::shm {

inline constexpr std::size_t cache_line_bytes = 64;
inline constexpr std::size_t inline_payload_bytes = 112; ///< what a slot holds itself

/// Two lines: the second is touched only by payload of more than 48 bytes, and the adjacent-line prefetcher of x86
/// brings it along.
struct alignas(2 * cache_line_bytes) Slot {
    /// Number of the record + 1 (upper half), length of the payload in bytes (lower half). Stored last, with release;
    /// the consumer's acquire of it makes `detail`, the payload and the bytes beside the ring visible.
    std::atomic<std::uint64_t> head;
    std::atomic<std::uint64_t> detail; ///< kind, flags, immediate: see Record
    std::byte payload[inline_payload_bytes];
};
static_assert(sizeof(Slot) == 2 * cache_line_bytes && offsetof(Slot, payload) == 16);

/// Records that the consumer is done with, modulo 2^32. Stored with release after the payload was copied out; the
/// producer's acquire of it allows it to write there again.
struct alignas(cache_line_bytes) ConsumedIndex {
    std::atomic<std::uint32_t> records;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free,
              "a lock inside an atomic would be private to each process");

/// Where a ring lies. Both counts are powers of two. All zero bytes are an empty ring.
struct RingView {
    Slot* slots = nullptr;
    std::uint32_t slot_count = 0;
    std::byte* bytes = nullptr;
    std::uint32_t byte_count = 0;
    ConsumedIndex* consumed = nullptr;

    /// Longest payload of one record: a quarter of the bytes, so that copying in and copying out overlap.
    [[nodiscard]] std::uint32_t max_payload_bytes() const noexcept { return byte_count / 4; }
};

/// What a record says besides its payload. `kind` and `flags` are their owner's own.
struct Record {
    std::uint8_t kind = 0;
    std::uint8_t flags = 0;
    std::uint32_t immediate = 0;
    std::uint32_t length = 0; ///< bytes of payload
};

/// A payload in the ring: two pieces where it wraps around the end of the bytes.
template <class Byte>
struct Pieces {
    std::span<Byte> first;
    std::span<Byte> second;
};

namespace detail {

/// Bytes beside the ring that a payload takes: whole lines, so that no two records share one.
[[nodiscard]] constexpr std::uint32_t bytes_taken(std::uint32_t length) noexcept {
    if (length <= inline_payload_bytes) return 0;
    return (length + cache_line_bytes - 1) & ~static_cast<std::uint32_t>(cache_line_bytes - 1);
}

/// @param number of the record. @param byte where its bytes begin, modulo 2^32.
[[nodiscard]] inline Pieces<std::byte> pieces_of(const RingView& ring, std::uint32_t number, std::uint32_t byte,
                                                 std::uint32_t length) noexcept {
    if (length <= inline_payload_bytes) {
        return {{ring.slots[number & (ring.slot_count - 1)].payload, length}, {}};
    }
    const std::uint32_t start = byte & (ring.byte_count - 1);
    const std::uint32_t to_end = ring.byte_count - start;
    if (length <= to_end) return {{ring.bytes + start, length}, {}};
    return {{ring.bytes + start, to_end}, {ring.bytes, length - to_end}};
}

} // namespace detail

/// The writing end. Progress-thread only.
class Producer {
  public:
    explicit Producer(const RingView& ring) : ring_(ring), ends_(ring.slot_count) {}

    /// Whether a record with a payload of `length`, at most max_payload_bytes(), fits now.
    [[nodiscard]] bool has_room(std::uint32_t length) noexcept {
        if (fits(length)) [[likely]]
            return true;
        refresh();
        return fits(length);
    }

    /// Where the payload of the next record goes. Needs has_room(length).
    [[nodiscard]] Pieces<std::byte> payload(std::uint32_t length) noexcept {
        return detail::pieces_of(ring_, produced_, bytes_end_, length);
    }

    /// Makes the record visible to the consumer. Needs has_room(record.length), and the payload in place.
    void publish(const Record& record) noexcept {
        const std::uint32_t index = produced_ & (ring_.slot_count - 1);
        Slot& slot = ring_.slots[index];
        bytes_end_ += detail::bytes_taken(record.length);
        ends_[index] = bytes_end_;
        ++produced_;
        slot.detail.store(static_cast<std::uint64_t>(record.immediate) << 32 |
                              static_cast<std::uint64_t>(record.flags) << 8 | record.kind,
                          std::memory_order_relaxed);
        slot.head.store(static_cast<std::uint64_t>(produced_) << 32 | record.length, std::memory_order_release);
    }

    /// The consumer's index made no sense: nothing fits any more.
    [[nodiscard]] bool is_violated() const noexcept { return violated_; }

  private:
    [[nodiscard]] bool fits(std::uint32_t length) const noexcept {
        return produced_ - consumed_ < ring_.slot_count &&
               bytes_end_ - bytes_freed_ + detail::bytes_taken(length) <= ring_.byte_count && !violated_;
    }

    void refresh() noexcept {
        const std::uint32_t seen = ring_.consumed->records.load(std::memory_order_acquire);
        if (seen == consumed_) return;
        if (seen - consumed_ > produced_ - consumed_) {
            violated_ = true;
            return;
        }
        consumed_ = seen;
        bytes_freed_ = ends_[(seen - 1) & (ring_.slot_count - 1)];
    }

    RingView ring_;
    std::uint32_t produced_ = 0;      ///< records
    std::uint32_t consumed_ = 0;      ///< records, as far as seen
    std::uint32_t bytes_end_ = 0;     ///< bytes produced, modulo 2^32
    std::uint32_t bytes_freed_ = 0;   ///< bytes consumed, as far as seen
    std::vector<std::uint32_t> ends_; ///< bytes_end_ after the record in each slot
    bool violated_ = false;
};

/// The reading end. Progress-thread only.
class Consumer {
  public:
    explicit Consumer(const RingView& ring) : ring_(ring) {}

    enum class Front : std::uint8_t { none, record, violation };

    /// The oldest record that was not popped, copied.
    [[nodiscard]] Front peek(Record& record) const noexcept {
        const Slot& slot = ring_.slots[popped_ & (ring_.slot_count - 1)];
        const std::uint64_t head = slot.head.load(std::memory_order_acquire);
        if (static_cast<std::uint32_t>(head >> 32) != popped_ + 1) return Front::none;
        const std::uint64_t rest = slot.detail.load(std::memory_order_relaxed);
        record.kind = static_cast<std::uint8_t>(rest);
        record.flags = static_cast<std::uint8_t>(rest >> 8);
        record.immediate = static_cast<std::uint32_t>(rest >> 32);
        record.length = static_cast<std::uint32_t>(head);
        return record.length <= ring_.max_payload_bytes() ? Front::record : Front::violation;
    }

    /// Payload of the record that peek() gave; another process may write there while it is read.
    [[nodiscard]] Pieces<const std::byte> payload(const Record& record) const noexcept {
        const auto pieces = detail::pieces_of(ring_, popped_, bytes_popped_, record.length);
        return {pieces.first, pieces.second};
    }

    void pop(const Record& record) noexcept {
        bytes_popped_ += detail::bytes_taken(record.length);
        ++popped_;
    }

    /// Lets the producer write again where popped records were. Once for many: the producer's copy of the line goes.
    void publish() noexcept {
        if (published_ == popped_) return;
        published_ = popped_;
        ring_.consumed->records.store(popped_, std::memory_order_release);
    }

  private:
    RingView ring_;
    std::uint32_t popped_ = 0;       ///< records
    std::uint32_t published_ = 0;    ///< records
    std::uint32_t bytes_popped_ = 0; ///< modulo 2^32
};

} // namespace verbena::shm
