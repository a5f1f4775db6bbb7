#include "catch.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "mem/nic_access.hpp"

using namespace verbena::mem;

namespace {

namespace fs = std::filesystem;

/// A machine's files.
struct Root {
    fs::path path;
    Root() {
        std::string name = (fs::temp_directory_path() / "verbena-XXXXXX").string();
        path = ::mkdtemp(name.data());
    }
    ~Root() { fs::remove_all(path); }
    void write(const std::string& file, const std::string& text) const {
        fs::create_directories((path / file).parent_path());
        std::ofstream(path / file) << text;
    }
    [[nodiscard]] NicAccess read() const { return read_nic_access(path.string(), "0000:3b:00.0"); }
};

} // namespace

TEST_CASE("what a kernel needs after a NIC's write follows from the driver's two attributes (P47)") {
    struct Row {
        int ordering;
        int options;
        bool other_gpu;
        FlushPlan plan;
    };
    const Row rows[] = {{0, 0, false, FlushPlan::impossible}, {0, 1, false, FlushPlan::by_host},
                        {0, 2, false, FlushPlan::by_stream},  {0, 3, false, FlushPlan::by_host},
                        {0, 2, true, FlushPlan::impossible},  {0, 1, true, FlushPlan::by_host},
                        {100, 0, false, FlushPlan::none},     {100, 0, true, FlushPlan::impossible},
                        {100, 1, true, FlushPlan::by_host},   {100, 2, true, FlushPlan::impossible},
                        {200, 0, false, FlushPlan::none},     {200, 0, true, FlushPlan::none}};
    for (const Row& row : rows) {
        CAPTURE(row.ordering, row.options, row.other_gpu);
        CHECK(name(flush_plan(row.ordering, row.options, row.other_gpu)) == name(row.plan));
    }
}

TEST_CASE("an IOMMU that maps every page is told with the parameter that stops it (P40)") {
    const Root root;
    root.write("proc/cmdline", "root=/dev/sda1 intel_iommu=on quiet\n");
    REQUIRE(warnings(root.read()).size() == 1);
    CHECK_THAT(warnings(root.read())[0], VERBENA_CONTAINS("iommu=pt"));
    root.write("proc/cmdline", "root=/dev/sda1 intel_iommu=on iommu=pt quiet\n");
    CHECK(warnings(root.read()).empty());
    root.write("proc/cmdline", "root=/dev/sda1 quiet\n");
    CHECK(warnings(root.read()).empty());
}

TEST_CASE("a driver without its device node is named (P41)") {
    const Root root;
    root.write("sys/module/gdrdrv/version", "2.4\n");
    REQUIRE(warnings(root.read()).size() == 1);
    CHECK_THAT(warnings(root.read())[0], VERBENA_CONTAINS("/dev/gdrdrv is not there"));
    root.write("dev/gdrdrv", "");
    CHECK(warnings(root.read()).empty());
}

TEST_CASE("peer memory modules are known by either name") {
    const Root root;
    CHECK_FALSE(root.read().peer_memory);
    root.write("sys/module/nv_peer_mem/version", "1.3\n");
    CHECK(root.read().peer_memory);
}

TEST_CASE("BAR1 is the second resource that is there, and a shortage names need and free (P39)") {
    const Root root;
    CHECK(root.read().bar1_bytes == 0);
    root.write("sys/bus/pci/devices/0000:3b:00.0/resource",
               "0x00000000c2000000 0x00000000c2ffffff 0x0000000000040200\n"
               "0x0000383fe0000000 0x0000383fefffffff 0x000000000014220c\n"
               "0x0000000000000000 0x0000000000000000 0x0000000000000000\n");
    const std::uint64_t total = root.read().bar1_bytes;
    CHECK(total == std::uint64_t{256} << 20);
    const auto shortage = bar1_shortage(total, std::uint64_t{20} << 20, std::uint64_t{1} << 30);
    REQUIRE(shortage.has_value());
    CHECK_THAT(*shortage, VERBENA_CONTAINS("1024 MiB") && VERBENA_CONTAINS("236 MiB free of 256"));
    CHECK_FALSE(bar1_shortage(total, 0, total).has_value());
    CHECK_FALSE(bar1_shortage(0, 0, total).has_value());    // unknown
    root.write("sys/bus/pci/devices/0000:3b:00.0/resource", // Hopper: the first takes two places
               "0x0000048000000000 0x0000048000ffffff 0x000000000014220c\n"
               "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
               "0x0000044000000000 0x0000047fffffffff 0x000000000014220c\n");
    CHECK(root.read().bar1_bytes == std::uint64_t{256} << 30);
    root.write("sys/bus/pci/devices/0000:3b:00.0/resource", "nonsense\nmore of it\n");
    CHECK(root.read().bar1_bytes == 0);
}
