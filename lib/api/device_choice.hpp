/// @file
/// Which device to use: every candidate of every backend in order of preference, and the first that all ranks have.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <verbena/device.hpp>
#include <verbena/settings.hpp>

namespace verbena {

struct Candidates {
    std::vector<Selection> selections; ///< best first
    std::vector<Rejection> rejected;
};

/// This machine's candidates. Ranks of one host prefer shared memory, then RDMA, then TCP; ranks of several hosts
/// prefer RDMA, then TCP. The settings `wire` and `device` narrow them.
/// @throws Error (unavailable) that lists every rejection when nothing is left.
[[nodiscard]] Candidates find_candidates(const Inventory& inventory, const Settings& settings);

/// What two ranks must have in common to talk: "verbs", "ofi:tcp".
[[nodiscard]] std::string transport_of(const Selection& selection);

/// The first of rank 0's transports that every rank has. @throws Error (unavailable) that lists what each rank has.
[[nodiscard]] std::string agree_on_transport(std::span<const std::vector<std::string>> transports_by_rank);

} // namespace verbena
