/// @file
/// What a collective is asked to do, and what it asks of its arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <verbena/group.hpp>

#include "coll/extent.hpp"
#include "coll/workspace.hpp"
#include "mem/space.hpp"

namespace verbena::coll {

/// One call as the user makes it.
struct Request {
    Collective collective = Collective::barrier;
    const void* input = nullptr;
    void* output = nullptr;
    std::size_t count = 0; ///< elements; of a block where each rank has one
    DataType type = DataType::u8;
    ReduceOp op = ReduceOp::sum; ///< reductions only
    std::uint32_t root = 0;
    std::string_view algorithm{};            ///< empty: chosen by size; or the name of a plan that the group was given
    std::span<const std::uint64_t> counts{}; ///< as in Shape
    std::span<const std::uint64_t> receives{}; ///< as in Shape
    const UserReduction* reduction = nullptr;  ///< in place of `type` and `op`

    [[nodiscard]] std::size_t element_size() const noexcept {
        return reduction != nullptr ? reduction->element_bytes : size_of(type);
    }
    [[nodiscard]] Shape shape(std::uint32_t rank, std::uint32_t ranks) const noexcept {
        return {rank, ranks, count, 0, root, counts, receives};
    }
};

/// The bytes of a rank's longer buffer, as the choice of an algorithm counts them. For a request that has been checked.
[[nodiscard]] std::size_t longer_buffer(const Request& request, std::uint32_t ranks) noexcept;

/// Where the buffers that this rank uses are. Null pointers are fine where there is nothing to read or to write.
/// @throws Error (invalid_argument) for an unknown type, operation or root, a null pointer, a size beyond the address
/// space, an overlap that is not in place, memory that nothing may use, or buffers of different kinds or GPUs.
[[nodiscard]] Place check_arguments(const mem::Spaces& spaces, const Request& request, std::uint32_t rank,
                                    std::uint32_t ranks);

} // namespace verbena::coll
