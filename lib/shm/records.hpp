/// @file
/// What goes through the rings of a queue pair (lib/shm/ring.hpp has the ring itself).
///
///     send            a fragment of a message, first to last; the last may carry immediate data
///     notice          a WRITE with immediate has put its bytes by cross-memory attach: it takes a receive
///     read, write     a request on the target's memory, through the ring; a write's data follow
///     data            of a write: a fragment, first to last
///     read_data       the answer to a read: a fragment
///     read_refused, write_done, write_refused     the other answers
#pragma once

#include <cstdint>

namespace verbena::shm {

enum class RecordKind : std::uint8_t {
    send = 1,
    notice,
    read,
    write,
    data,
    read_data,
    read_refused,
    write_done,
    write_refused,
};

enum RecordFlags : std::uint8_t {
    first_fragment = 1,
    last_fragment = 2,
    has_immediate = 4,
};

/// Payload of `read` and `write`.
struct RequestBody {
    std::uint64_t address;
    std::uint64_t rkey;
    std::uint64_t length; ///< bytes, not 0
};

/// Payload of `notice`.
struct NoticeBody {
    std::uint64_t length; ///< bytes that were written
};

} // namespace verbena::shm
