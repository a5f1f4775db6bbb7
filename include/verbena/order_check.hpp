/// @file
/// Reads a recorded trace of one-sided operations and finds the pairs whose order nothing decided.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include <verbena/export.hpp>

namespace verbena {

/// Two operations that touch the same bytes, one of which changes them, with nothing that orders them.
struct OrderConflict {
    std::uint64_t earlier = 0; ///< numbers of the trace: they grow with the program's order
    std::uint64_t later = 0;
    std::string earlier_what; ///< "get of 64 bytes"
    std::string later_what;
    std::uint32_t peer = 0;    ///< of the later one
    bool at_peer = false;      ///< the bytes lie there; else here
    std::uint64_t address = 0; ///< first byte that both touch
    std::uint64_t bytes = 0;
    std::string remedy; ///< what would order them
};

struct OrderReport {
    std::uint32_t rank = 0;
    std::uint64_t operations = 0;
    std::uint64_t fences = 0; ///< operations that carried one
    std::vector<OrderConflict> conflicts;
};

/// The rules are those that the runtime itself goes by; docs/order-trace.md has the format.
/// @throws Error (protocol_violation) naming the line that is none of a trace.
[[nodiscard]] VERBENA_API OrderReport check_order(std::istream& trace);

} // namespace verbena
