#include "catch.hpp"

#include <filesystem>

#include "fixture_tree.hpp"
#include "verbs/chain.hpp"

using namespace verbena;
using namespace verbena::verbs;

namespace {

constexpr bool listed = true;

std::string link_of(const FixtureTree& tree, const std::string& device, const LibraryView& library) {
    return missing_link(tree.roots(), read_device(tree.roots(), device), library);
}

} // namespace

TEST_CASE("without an RDMA kernel module the class is named as absent") {
    FixtureTree tree;
    CHECK_THAT(missing_class(tree.roots()), VERBENA_CONTAINS("no RDMA device found"));
    CHECK_THAT(missing_class(tree.roots()), VERBENA_CONTAINS("class/infiniband is absent"));
}

TEST_CASE("modules without a device are told apart from no modules") {
    FixtureTree tree;
    tree.make_directory("sys/class/infiniband");
    CHECK_THAT(missing_class(tree.roots()), VERBENA_CONTAINS("no RDMA device found"));
    CHECK_THAT(missing_class(tree.roots()), VERBENA_CONTAINS("class/infiniband is empty"));
}

TEST_CASE("a whole chain has no missing link") {
    FixtureTree tree;
    tree.add_device("rxe1", 0);
    CHECK(missing_class(tree.roots()).empty());
    CHECK(link_of(tree, "rxe1", {listed, ""}).empty());
}

TEST_CASE("a device without uverbs asks for the module") {
    FixtureTree tree;
    tree.add_device("rxe1", 0);
    std::filesystem::remove_all(tree.directory() + "/sys/class/infiniband_verbs");
    CHECK_THAT(link_of(tree, "rxe1", {!listed, ""}), VERBENA_CONTAINS("modprobe ib_uverbs"));
}

TEST_CASE("P59, P64: a missing device node is named with the container option, and concerns its device only") {
    FixtureTree tree;
    tree.add_device("rxe1", 0);
    tree.add_device("rxe2", 1);
    std::filesystem::remove(tree.directory() + "/dev/infiniband/uverbs1");
    const std::string problem = link_of(tree, "rxe2", {!listed, ""});
    CHECK_THAT(problem, VERBENA_CONTAINS("present, but its device node"));
    CHECK_THAT(problem, VERBENA_CONTAINS("/infiniband/uverbs1 is missing"));
    CHECK_THAT(problem, VERBENA_CONTAINS("--device="));
    CHECK(link_of(tree, "rxe1", {listed, ""}).empty());
}

TEST_CASE("P58: an ABI that the provider does not speak is named with the kernel's number, not as \"no devices\"") {
    FixtureTree tree;
    tree.add_device("bnxt_re0", 0);
    tree.link("sys/class/infiniband/bnxt_re0/device/driver", "../../../bus/pci/drivers/bnxt_en");
    tree.write("sys/class/infiniband_verbs/uverbs0/abi_version", "6");
    tree.write("providers/libbnxt_re-rdmav34.so", "");
    const std::string problem = link_of(tree, "bnxt_re0", {!listed, tree.directory() + "/providers"});
    CHECK_THAT(problem, VERBENA_CONTAINS("ABI version 6"));
    CHECK_THAT(problem, VERBENA_CONTAINS("bnxt_re provider"));
    CHECK_THAT(problem, VERBENA_CONTAINS("install in this image"));
}

TEST_CASE("P71: a provider that is not installed is named with the place where it was looked for") {
    FixtureTree tree;
    tree.add_device("rxe1", 0);
    tree.write("providers/libmlx5-rdmav34.so", "");
    const std::string problem = link_of(tree, "rxe1", {!listed, tree.directory() + "/providers"});
    CHECK_THAT(problem, VERBENA_CONTAINS("no user-space provider for rxe"));
    CHECK_THAT(problem, VERBENA_CONTAINS("/providers"));
}

TEST_CASE("an iWARP device says which backend reaches it") {
    FixtureTree tree;
    tree.add_device("siw1", 0);
    tree.write("sys/class/infiniband/siw1/node_type", "4: RNIC");
    CHECK_THAT(link_of(tree, "siw1", {listed, ""}), VERBENA_CONTAINS("iWARP"));
}
