#include "catch.hpp"

#include "fixture_tree.hpp"

using namespace verbena;
using namespace verbena::verbs;

TEST_CASE("a device is read from sysfs with driver, firmware and ports in numeric order") {
    FixtureTree tree;
    tree.add_device("mlx5_0", 0);
    tree.link("sys/class/infiniband/mlx5_0/device/driver", "../../../bus/pci/drivers/mlx5_core");
    tree.write("sys/class/infiniband/mlx5_0/device/numa_node", "1");
    tree.write("sys/class/infiniband/mlx5_0/fw_ver", "28.39.1002");
    tree.write("sys/class/infiniband/mlx5_0/ports/10/state", "1: DOWN");
    tree.write("sys/class/infiniband/mlx5_0/ports/2/state", "2: INIT");

    const DeviceInfo device = read_device(tree.roots(), "mlx5_0");
    CHECK(device.backend == "verbs");
    CHECK(device.driver == "mlx5_core");
    CHECK(device.firmware == "28.39.1002");
    CHECK(device.node_guid == "00aa:00ff:fe00:0001");
    CHECK(device.numa_node == 1);
    REQUIRE(device.ports.size() == 3);
    const PortInfo& port = device.ports[0];
    CHECK(port.state == PortState::active);
    CHECK(port.phys_state == "LinkUp");
    CHECK(port.rate_gbps == Approx(100));
    CHECK(port.link_layer == "Ethernet");
    CHECK(device.ports[1].number == 2);
    CHECK(device.ports[1].state == PortState::init);
    CHECK(device.ports[2].number == 10);
    CHECK(device.ports[2].state == PortState::down);
}

TEST_CASE("a LID is read in its hexadecimal spelling") {
    FixtureTree tree;
    tree.add_device("mlx5_0", 0);
    tree.write("sys/class/infiniband/mlx5_0/ports/1/lid", "0x1d");
    CHECK(read_device(tree.roots(), "mlx5_0").ports[0].lid == 29);
}

TEST_CASE("P15: the interface behind a GID is read for its entry, and an empty entry has none") {
    FixtureTree tree;
    tree.add_device("rxe1", 0);
    tree.write("sys/class/infiniband/rxe1/ports/1/gid_attrs/ndevs/3", "eth7");
    CHECK(gid_netdev(tree.roots(), "rxe1", 1, 3) == "eth7");
    CHECK(gid_netdev(tree.roots(), "rxe1", 1, 4).empty());
}

TEST_CASE("a software device gives its kind as driver") {
    FixtureTree tree;
    tree.add_device("rxe1", 0);
    const DeviceInfo device = read_device(tree.roots(), "rxe1");
    CHECK(device.driver == "rxe");
    CHECK(device.numa_node == -1);
}

TEST_CASE("a device of which nothing can be read is still listed") {
    FixtureTree tree;
    tree.make_directory("sys/class/infiniband/odd0");
    CHECK(device_names(tree.roots()) == std::vector<std::string>{"odd0"});
    CHECK(read_device(tree.roots(), "odd0").ports.empty());
    CHECK(uverbs_name(tree.roots(), "odd0").empty());
}

TEST_CASE("the character device is found by the device it belongs to, not by its number") {
    FixtureTree tree;
    tree.add_device("rxe2", 0);
    tree.add_device("rxe1", 7);
    CHECK(uverbs_name(tree.roots(), "rxe1") == "uverbs7");
}
