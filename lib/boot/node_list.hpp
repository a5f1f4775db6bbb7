/// @file
/// Slurm's compact lists of hosts.
#pragma once

#include <string>
#include <string_view>

namespace verbena::boot {

/// The first host of a list such as "gpu[03-05,9],login1": "gpu03". Empty when the list is none.
[[nodiscard]] std::string first_host(std::string_view node_list);

} // namespace verbena::boot
