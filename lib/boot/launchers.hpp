/// @file
/// What the environment of a launched process says about its job, by launcher.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace verbena::boot {

/// getenv(), or a table in its place.
using Lookup = std::function<std::optional<std::string>(const std::string&)>;

/// A setting and the variables that gave it.
struct Given {
    std::string_view setting;
    std::string value;
    std::string origin; ///< "SLURM_PROCID"
};

struct Launch {
    std::string_view launcher; ///< "torchrun", "Slurm", "Open MPI"; empty: none
    std::vector<Given> given;
};

/// The launcher nearest to this process, which is not always the outermost: torchrun and mpirun run inside a Slurm
/// step. A launcher counts once the variables of rank and size are there. Rules for the store's address:
/// - torchrun: MASTER_ADDR, and MASTER_PORT + 1, because torch's own store listens on MASTER_PORT
/// - Slurm: the first host of the step; a port from 20000 to 29999 that job and step decide
/// - Open MPI: this host when it has every rank, with a port that the job decides; else none
/// @throws Error (invalid_argument) where a launcher's variables are there by half or do not parse.
[[nodiscard]] Launch read_launcher(const Lookup& lookup);

} // namespace verbena::boot
