/// @file
/// What a backend supplies to be tested: two devices that can reach each other. The suite is written against lib/wire
/// alone; a program is the suite plus one make_pair().
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "wire/device.hpp"

namespace verbena::conformance {

/// Members go in reverse order: `step` may own what the devices stand on.
struct Pair {
    /// Lets time pass: the simulator executes its next event, a real device needs nothing (or a yield).
    std::function<void()> step = [] {};
    std::unique_ptr<wire::Device> a;
    std::unique_ptr<wire::Device> b;
    bool is_one_rank_each = false; ///< a device stands for one rank: jobs have two
    std::string skip_reason;       ///< not empty: this machine lacks such devices, and what is missing
};

/// Called once a case, before any SECTION; it may GENERATE over several kinds of device.
[[nodiscard]] Pair make_pair();

} // namespace verbena::conformance
