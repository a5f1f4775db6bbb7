#include "catch.hpp"

#include <cstdlib>

#include <verbena/error.hpp>

#include "boot/environment.hpp"
#include "boot/job.hpp"
#include "boot/launchers.hpp"
#include "boot/node_list.hpp"

using namespace verbena;
using namespace verbena::boot;

namespace {

using Expected = std::map<std::string, std::string>;

Expected given_by(const Environment& environment) {
    Expected given;
    const Launch launch = read_launcher([&](const std::string& name) -> std::optional<std::string> {
        const auto found = environment.find(name);
        return found == environment.end() ? std::nullopt : std::optional(found->second);
    });
    for (const Given& one : launch.given) given[std::string(one.setting)] = one.value;
    return given;
}

const Environment torchrun = {{"RANK", "3"},
                              {"WORLD_SIZE", "8"},
                              {"LOCAL_RANK", "1"},
                              {"LOCAL_WORLD_SIZE", "2"},
                              {"MASTER_ADDR", "gpu01"},
                              {"MASTER_PORT", "29500"}};
const Environment slurm = {{"SLURM_PROCID", "5"},
                           {"SLURM_STEP_NUM_TASKS", "16"},
                           {"SLURM_NTASKS", "32"},
                           {"SLURM_LOCALID", "1"},
                           {"SLURM_STEP_NODELIST", "gpu[03-05,9],login1"},
                           {"SLURM_JOB_NODELIST", "other1"},
                           {"SLURM_JOB_ID", "12345"},
                           {"SLURM_STEP_ID", "0"}};
const Environment open_mpi = {{"OMPI_COMM_WORLD_RANK", "1"},
                              {"OMPI_COMM_WORLD_SIZE", "2"},
                              {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                              {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                              {"PMIX_NAMESPACE", "1402863617"}};

Environment with(Environment environment, const std::string& name, const std::string& value) {
    environment[name] = value;
    return environment;
}
Environment without(Environment environment, std::initializer_list<const char*> names) {
    for (const char* name : names) environment.erase(name);
    return environment;
}
Environment merged(Environment first, const Environment& second) {
    first.insert(second.begin(), second.end());
    return first;
}

} // namespace

TEST_CASE("each launcher's variables become rank, size and the store's address") {
    auto [what, environment, expected] = GENERATE(table<std::string, Environment, Expected>({
        {"none", {{"HOME", "/root"}}, {}},
        {"torchrun",
         torchrun,
         {{"rank", "3"}, {"size", "8"}, {"local-rank", "1"}, {"local-size", "2"}, {"store", "gpu01:29501"}}},
        {"torchrun, IPv6",
         with(torchrun, "MASTER_ADDR", "fd00::1"),
         {{"rank", "3"}, {"size", "8"}, {"local-rank", "1"}, {"local-size", "2"}, {"store", "[fd00::1]:29501"}}},
        {"slurm", slurm, {{"rank", "5"}, {"size", "16"}, {"local-rank", "1"}, {"store", "gpu03:22695"}}},
        {"slurm, older",
         without(slurm, {"SLURM_STEP_NUM_TASKS", "SLURM_STEP_NODELIST", "SLURM_STEP_ID"}),
         {{"rank", "5"}, {"size", "32"}, {"local-rank", "1"}, {"store", "other1:22695"}}},
        {"slurm, second step",
         with(slurm, "SLURM_STEP_ID", "1"),
         {{"rank", "5"}, {"size", "16"}, {"local-rank", "1"}, {"store", "gpu03:22696"}}},
        {"salloc's shell is no rank", {{"SLURM_NTASKS", "4"}, {"SLURM_JOB_ID", "1"}}, {}},
        {"mpirun over several hosts",
         with(open_mpi, "OMPI_COMM_WORLD_SIZE", "4"),
         {{"rank", "1"}, {"size", "4"}, {"local-rank", "1"}, {"local-size", "2"}}},
        {"torchrun inside a Slurm step",
         merged(torchrun, slurm),
         {{"rank", "3"}, {"size", "8"}, {"local-rank", "1"}, {"local-size", "2"}, {"store", "gpu01:29501"}}},
        {"mpirun inside a Slurm step",
         merged(with(open_mpi, "OMPI_COMM_WORLD_SIZE", "4"), slurm),
         {{"rank", "1"}, {"size", "4"}, {"local-rank", "1"}, {"local-size", "2"}}},
    }));
    INFO(what);
    CHECK(given_by(environment) == expected);
}

TEST_CASE("ranks of one mpirun on one host agree on a port, and two mpiruns do not") {
    const std::string first = given_by(open_mpi).at("store");
    CHECK(first == given_by(with(open_mpi, "OMPI_COMM_WORLD_RANK", "0")).at("store"));
    CHECK(first != given_by(with(open_mpi, "PMIX_NAMESPACE", "1402863618")).at("store"));
    const StoreAddress address = parse_store_address(first);
    CHECK(address.host == "127.0.0.1");
    CHECK((address.port >= 20000 && address.port < 30000));
}

TEST_CASE("a launcher's variables that are there by half, or are no numbers, are named") {
    auto [environment, sentence] = GENERATE(table<Environment, std::string>({
        {{{"RANK", "0"}}, "half that of torchrun: RANK is set, WORLD_SIZE is not"},
        {{{"WORLD_SIZE", "2"}}, "half that of torchrun: WORLD_SIZE is set, RANK is not"},
        {without(torchrun, {"MASTER_PORT"}), "MASTER_ADDR is set, MASTER_PORT is not"},
        {without(torchrun, {"MASTER_ADDR"}), "MASTER_PORT is set, MASTER_ADDR is not"},
        {with(torchrun, "MASTER_PORT", "x"), "MASTER_PORT of torchrun is \"x\", not a whole number"},
        {with(torchrun, "MASTER_PORT", "65535"), "MASTER_PORT is 65535: the store's is one above"},
        {with(torchrun, "RANK", "first"), "environment variable RANK: setting rank: \"first\" is not a whole number"},
        {{{"SLURM_PROCID", "0"}}, "half that of Slurm: SLURM_PROCID is set, SLURM_STEP_NUM_TASKS is not"},
        {with(slurm, "SLURM_STEP_NODELIST", "gpu[3"), "SLURM_STEP_NODELIST is \"gpu[3\", not a list of hosts"},
        {{{"OMPI_COMM_WORLD_SIZE", "2"}},
         "half that of Open MPI: OMPI_COMM_WORLD_SIZE is set, OMPI_COMM_WORLD_RANK is not"},
    }));
    CHECK_THROWS_WITH(settings_from(environment), VERBENA_CONTAINS(sentence));
}

TEST_CASE("the first host of a Slurm list is found in every form") {
    auto [list, host] = GENERATE(table<std::string, std::string>({{"login1", "login1"},
                                                                  {"login1,gpu[1-2]", "login1"},
                                                                  {"gpu[03-05,9],login1", "gpu03"},
                                                                  {"gpu[9,03-05]", "gpu9"},
                                                                  {"rack[1-2]n[007-010]", "rack1n007"},
                                                                  {"gpu[3]-ib", "gpu3-ib"},
                                                                  {"gpu[3]-ib,x", "gpu3-ib"},
                                                                  {"", ""},
                                                                  {",a", ""},
                                                                  {"gpu[", ""},
                                                                  {"gpu[]", ""},
                                                                  {"gpu[a-b]", ""},
                                                                  {"gpu[1x]", ""}}));
    CHECK(first_host(list) == host);
}

TEST_CASE("VERBENA_ variables win over the launcher's, and the origin of each is kept") {
    const Settings settings = settings_from(with(with(torchrun, "VERBENA_RANK", "7"), "VERBENA_RECEIVE_WINDOW", "16"));
    const auto setting = [&](std::string_view name) {
        for (const Setting& one : settings.all()) {
            if (one.name == name) return one;
        }
        FAIL("no setting " << name);
        return Setting{};
    };
    CHECK(setting("rank").value == "7");
    CHECK(setting("rank").source == Source::environment);
    CHECK(setting("rank").origin == "VERBENA_RANK");
    CHECK(setting("size").source == Source::launcher);
    CHECK(setting("size").origin == "WORLD_SIZE");
    CHECK(setting("store").origin == "MASTER_ADDR, MASTER_PORT + 1");
    CHECK(setting("receive-window").value == "16");
    CHECK(setting("device").source == Source::built_in);
}

TEST_CASE(
    "an unknown VERBENA_ variable names the nearest, and those of the guest and the tests are nobody's business") {
    try {
        (void)settings_from({{"VERBENA_RECIEVE_WINDOW", "16"}});
        FAIL("no error");
    } catch (const Error& error) {
        CHECK_THAT(error.what(), VERBENA_CONTAINS("environment variable VERBENA_RECIEVE_WINDOW"));
        CHECK_THAT(error.advice(), VERBENA_CONTAINS("\"receive-window\""));
    }
    CHECK_THROWS_WITH(settings_from({{"VERBENA_SEND_DEPTH", "0"}}),
                      VERBENA_CONTAINS("VERBENA_SEND_DEPTH") && VERBENA_CONTAINS("outside 1 to 32768"));
    CHECK_NOTHROW(settings_from({{"VERBENA_GUEST_HOSTS", "x"}, {"VERBENA_TEST_SEED", "x"}}));
}

TEST_CASE("the process's own environment is what from_environment reads") {
    setenv("VERBENA_SEND_DEPTH", "77", 1);
    CHECK(Settings::from_environment().number("send-depth") == 77);
    unsetenv("VERBENA_SEND_DEPTH");
    CHECK(Settings::from_environment().number("send-depth") == 128);
}
