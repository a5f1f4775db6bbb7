/// @file
/// What a wire keeps in order, as data: the one place where it is written down.
#pragma once

#include <array>
#include <cstdint>

#include "wire/capabilities.hpp"

namespace verbena::order {

enum class Kind : std::uint8_t { send, write, read, atomic };
inline constexpr std::size_t kinds = 4;

/// What the later of two requests that touch the same memory must do.
enum class Relation : std::uint8_t {
    ordered, ///< nothing
    fence,   ///< carry the fence flag
    wait,    ///< be posted only when the earlier one is complete
};

/// [earlier][later], for two requests of one queue pair to one peer.
using Rules = std::array<std::array<Relation, kinds>, kinds>;

/// A reliable connection that keeps its WRITEs in order.
///
/// Source: InfiniBand Architecture Specification, volume 1, 9.5 (transaction ordering: a responder executes SEND, WRITE
/// and atomics in the order of arrival, and may execute a READ late) and 10.8.3.3 (send queue ordering: a request
/// behind a READ or atomic may start before its response is here, unless it has the fence indicator). Two READs do not
/// disturb each other at the responder, and their responses come in order. A READ behind an atomic is fenced, since
/// only one of the two is said to wait.
inline constexpr Rules reliable_connection = {{
    // later: send, write, read, atomic
    {Relation::ordered, Relation::ordered, Relation::ordered, Relation::ordered}, // send
    {Relation::ordered, Relation::ordered, Relation::ordered, Relation::ordered}, // write
    {Relation::fence, Relation::fence, Relation::ordered, Relation::fence},       // read
    {Relation::fence, Relation::fence, Relation::fence, Relation::fence},         // atomic
}};

/// The same for what a device says of itself. Without `ordered_writes` (libfabric without FI_ORDER_WAW, RAW and SAW;
/// adaptive routing; relaxed ordering on PCIe) nothing may be posted behind a WRITE that it conflicts with: the fence
/// waits for READs and atomics only (10.8.3.3). Without a native fence (libfabric without FI_FENCE) whoever would
/// carry it waits.
[[nodiscard]] constexpr Rules rules_of(const wire::Capabilities& capabilities) noexcept {
    Rules rules = reliable_connection;
    for (std::size_t later = 0; later < kinds; ++later) {
        if (!capabilities.ordered_writes) rules[static_cast<std::size_t>(Kind::write)][later] = Relation::wait;
        for (auto& row : rules) {
            if (row[later] == Relation::fence && !capabilities.native_fence) row[later] = Relation::wait;
        }
    }
    return rules;
}

[[nodiscard]] constexpr Relation relation(const Rules& rules, Kind earlier, Kind later) noexcept {
    return rules[static_cast<std::size_t>(earlier)][static_cast<std::size_t>(later)];
}

} // namespace verbena::order
