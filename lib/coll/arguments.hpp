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

/// One call as the user makes it: the public value itself.
using Request = CollectiveCall;

[[nodiscard]] inline std::size_t element_size(const Request& request) noexcept {
    return request.reduction != nullptr ? request.reduction->element_bytes : size_of(request.type);
}
[[nodiscard]] inline Shape shape_of(const Request& request, std::uint32_t rank, std::uint32_t ranks) noexcept {
    return {rank, ranks, request.count, 0, request.root, request.counts, request.receive_counts};
}

/// The bytes of a rank's longer buffer, as the choice of an algorithm counts them. For a request that has been checked.
[[nodiscard]] std::size_t longer_buffer(const Request& request, std::uint32_t ranks) noexcept;

/// Where the buffers that this rank uses are. Null pointers are fine where there is nothing to read or to write.
/// @throws Error (invalid_argument) for an unknown type, operation or root, a null pointer, a size beyond the address
/// space, an overlap that is not in place, memory that nothing may use, or buffers of different kinds or GPUs.
[[nodiscard]] Place check_arguments(const mem::Spaces& spaces, const Request& request, std::uint32_t rank,
                                    std::uint32_t ranks);

} // namespace verbena::coll
