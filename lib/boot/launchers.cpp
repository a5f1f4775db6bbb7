#include "boot/launchers.hpp"

#include <array>
#include <charconv>
#include <initializer_list>

#include <fmt/format.h>

#include <verbena/error.hpp>

#include "boot/node_list.hpp"
#include "boot/socket.hpp"

namespace verbena::boot {
namespace {

/// The first of several names that is set and not empty.
struct Variable {
    std::string name;
    std::string value;
};

class Variables {
  public:
    Variables(std::string_view launcher, const Lookup& lookup) : launcher_(launcher), lookup_(lookup) {}

    [[nodiscard]] std::optional<Variable> find(std::initializer_list<const char*> names) const {
        for (const char* name : names) {
            if (auto value = lookup_(name); value && !value->empty()) return Variable{name, std::move(*value)};
        }
        return std::nullopt;
    }
    [[nodiscard]] Variable need(std::initializer_list<const char*> names, std::string_view because) const {
        if (auto found = find(names)) return std::move(*found);
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format("the environment is half that of {}: {} is set, {} is not", launcher_, because, *names.begin()),
            fmt::format("start the process with {}, or unset {} and give --rank and --size", launcher_, because));
    }
    [[nodiscard]] std::uint64_t number(const Variable& variable) const {
        std::uint64_t value = 0;
        const char* end = variable.value.data() + variable.value.size();
        const auto [stop, error] = std::from_chars(variable.value.data(), end, value);
        if (error != std::errc() || stop != end) {
            throw Error(ErrorCode::invalid_argument, fmt::format("{} of {} is \"{}\", not a whole number",
                                                                 variable.name, launcher_, variable.value));
        }
        return value;
    }

  private:
    std::string_view launcher_;
    const Lookup& lookup_;
};

void add(Launch& launch, std::string_view setting, const std::optional<Variable>& variable) {
    if (variable) launch.given.push_back({setting, variable->value, variable->name});
}

/// A port that every process of a job finds alone, below the kernel's ephemeral ports (from 32768).
std::uint16_t port_from(std::uint64_t job, std::uint64_t step) {
    constexpr std::uint64_t first = 20000;
    constexpr std::uint64_t count = 10000;
    return static_cast<std::uint16_t>(first + (job * 31 + step) % count);
}

Launch torchrun(const Lookup& lookup) {
    const Variables variables("torchrun", lookup);
    Launch launch{"torchrun", {}};
    const Variable rank = variables.need({"RANK"}, "WORLD_SIZE");
    const Variable size = variables.need({"WORLD_SIZE"}, "RANK");
    add(launch, "rank", rank);
    add(launch, "size", size);
    add(launch, "local-rank", variables.find({"LOCAL_RANK"}));
    add(launch, "local-size", variables.find({"LOCAL_WORLD_SIZE"}));
    const auto address = variables.find({"MASTER_ADDR"});
    const auto port = variables.find({"MASTER_PORT"});
    if (!address && !port) return launch;
    const Variable host = variables.need({"MASTER_ADDR"}, "MASTER_PORT");
    const std::uint64_t torch_port = variables.number(variables.need({"MASTER_PORT"}, "MASTER_ADDR"));
    if (torch_port == 0 || torch_port > 65534) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("MASTER_PORT is {}: the store's is one above it, at most 65535", torch_port),
                    "choose a lower MASTER_PORT, or set VERBENA_STORE");
    }
    launch.given.push_back({"store", host_and_port(host.value, static_cast<std::uint16_t>(torch_port + 1)),
                            "MASTER_ADDR, MASTER_PORT + 1"});
    return launch;
}

Launch slurm(const Lookup& lookup) {
    const Variables variables("Slurm", lookup);
    Launch launch{"Slurm", {}};
    add(launch, "rank", variables.need({"SLURM_PROCID"}, "SLURM_STEP_NUM_TASKS"));
    add(launch, "size", variables.need({"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}, "SLURM_PROCID"));
    add(launch, "local-rank", variables.find({"SLURM_LOCALID"}));
    const auto nodes = variables.find({"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"});
    const auto job = variables.find({"SLURM_JOB_ID"});
    if (!nodes || !job) return launch;
    const std::string host = first_host(nodes->value);
    if (host.empty()) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{} is \"{}\", not a list of hosts", nodes->name, nodes->value),
                    "set VERBENA_STORE=HOST:PORT");
    }
    const auto step = variables.find({"SLURM_STEP_ID"});
    const std::uint16_t port = port_from(variables.number(*job), step ? variables.number(*step) : 0);
    launch.given.push_back({"store", host_and_port(host, port), fmt::format("{}, SLURM_JOB_ID", nodes->name)});
    return launch;
}

Launch open_mpi(const Lookup& lookup) {
    const Variables variables("Open MPI", lookup);
    Launch launch{"Open MPI", {}};
    const Variable rank = variables.need({"OMPI_COMM_WORLD_RANK"}, "OMPI_COMM_WORLD_SIZE");
    const Variable size = variables.need({"OMPI_COMM_WORLD_SIZE"}, "OMPI_COMM_WORLD_RANK");
    const auto local_size = variables.find({"OMPI_COMM_WORLD_LOCAL_SIZE"});
    add(launch, "rank", rank);
    add(launch, "size", size);
    add(launch, "local-rank", variables.find({"OMPI_COMM_WORLD_LOCAL_RANK"}));
    add(launch, "local-size", local_size);
    if (!local_size || local_size->value != size.value) return launch; // no variable names the host of rank 0
    // PMIx's name space is "prterun-host-PID@1" or a number; mpirun 4 has a job id of its own.
    const auto job = variables.find({"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "OMPI_MCA_orte_hnp_uri"});
    if (!job) return launch;
    std::uint64_t sum = 0;
    for (const char letter : job->value) sum = sum * 131 + static_cast<unsigned char>(letter);
    launch.given.push_back({"store", host_and_port("127.0.0.1", port_from(sum % 1'000'000'007, 0)), job->name});
    return launch;
}

/// In the order in which launchers run one another, innermost first.
struct Row {
    std::array<const char*, 2> signs; ///< either of them: this launcher started us
    Launch (*read)(const Lookup&);
};
constexpr std::array rows = {
    Row{{"RANK", "WORLD_SIZE"}, torchrun},
    Row{{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, open_mpi},
    Row{{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}, slurm},
};

} // namespace

Launch read_launcher(const Lookup& lookup) {
    for (const Row& row : rows) {
        for (const char* sign : row.signs) {
            if (const auto value = lookup(sign); value && !value->empty()) return row.read(lookup);
        }
    }
    return {};
}

} // namespace verbena::boot
