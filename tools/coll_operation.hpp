/// @file
/// What `verbena coll` knows of each operation: who uses which buffer, what belongs into it, and what its bandwidth
/// means. Pure values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <verbena/group.hpp>

#include "reduction_values.hpp"

namespace verbena::tools {

struct CollOperation {
    /// What a buffer holds: as much as a block, or a block of each rank.
    enum class Holds : std::uint8_t { block, block_of_each };
    /// What each rank's link must carry for a byte of the longer buffer, so that numbers of different rank counts
    /// compare (nccl-tests, doc/PERFORMANCE.md, and its src/*.cu for gather and scatter).
    enum class Bus : std::uint8_t { once, all_but_own, all_but_own_twice };

    Collective collective;
    bool reduces = false;
    bool only_root_reads = false;
    bool only_root_writes = false;
    Holds input = Holds::block;
    Holds output = Holds::block;
    Bus bus = Bus::once;
    bool is_uneven = false; ///< blocks differ in length: block_length()
    bool is_scan = false;   ///< the reduction of the ranks below, and with `includes_self` of this one
    bool includes_self = false;

    [[nodiscard]] bool has_root() const noexcept { return only_root_reads || only_root_writes; }
    [[nodiscard]] bool has_blocks() const noexcept { return input != output || input == Holds::block_of_each; }
    /// Uneven blocks of which each rank has lists of its own.
    [[nodiscard]] bool is_uneven_exchange() const noexcept {
        return is_uneven && input == Holds::block_of_each && output == Holds::block_of_each;
    }
    [[nodiscard]] bool works_in_place() const noexcept { return input == Holds::block || output == Holds::block; }
};

/// All that can be asked for by name; `name(collective)` is the name.
[[nodiscard]] std::span<const CollOperation> coll_operations() noexcept;
/// @throws Error (invalid_argument) that lists the names.
[[nodiscard]] const CollOperation& coll_operation_named(const std::string& name);

/// One rank's buffers, in elements. In place both begin in the longer one.
struct CollBuffers {
    std::size_t input = 0; ///< 0: not used on this rank
    std::size_t output = 0;
    std::size_t input_at = 0; ///< in place only, as output_at
    std::size_t output_at = 0;
};
[[nodiscard]] CollBuffers buffers_of(const CollOperation& operation, std::size_t count, std::uint32_t rank,
                                     std::uint32_t ranks, std::uint32_t root) noexcept;

/// Elements of a block when a rank's longer buffer has `bytes` / `size` of them, rounded down; where each rank has a
/// block at least one, so that a sweep may begin at any size.
[[nodiscard]] std::size_t block_count(const CollOperation& operation, std::uint64_t bytes, std::size_t size,
                                      std::uint32_t ranks) noexcept;
/// The elements of a rank's longer buffer.
[[nodiscard]] std::size_t longer_count(const CollOperation& operation, std::size_t count, std::uint32_t ranks) noexcept;

/// Elements of block `index` where they are `count` on average: uneven ones are `count`, twice as many and none in
/// turn. Of an exchange the block from rank a to rank b has index a + b.
[[nodiscard]] std::size_t block_length(const CollOperation& operation, std::size_t count, std::uint32_t index) noexcept;
/// The elements ahead of block `index` of the row that begins with index `first`.
[[nodiscard]] std::size_t block_begin(const CollOperation& operation, std::size_t count, std::uint32_t index,
                                      std::uint32_t first = 0) noexcept;

/// Where the elements of one block of this rank's output come from.
[[nodiscard]] Source source_of(const CollOperation& operation, std::uint32_t block, std::size_t count,
                               std::uint32_t rank, std::uint32_t root) noexcept;

/// 0 where nothing moves.
[[nodiscard]] double bus_bandwidth(const CollOperation& operation, double algorithm_bandwidth, std::uint32_t ranks);

} // namespace verbena::tools
