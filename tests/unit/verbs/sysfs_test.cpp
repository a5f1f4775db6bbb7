#include "catch.hpp"

#include "fixture_tree.hpp"

using namespace verbena;
using namespace verbena::verbs;

TEST_CASE("a device is read from sysfs with driver, ports and the used GIDs in numeric order") {
    FixtureTree tree;
    tree.add_device("mlx5_0", 0);
    tree.link("sys/class/infiniband/mlx5_0/device/driver", "../../../bus/pci/drivers/mlx5_core");
    tree.write("sys/class/infiniband/mlx5_0/device/numa_node", "1");
    tree.write("sys/class/infiniband/mlx5_0/fw_ver", "28.39.1002");
    tree.add_gid("mlx5_0", 10, "0000:0000:0000:0000:0000:ffff:0a09:0001", "RoCE v2", "eth1");
    tree.add_gid("mlx5_0", 2, "fe80:0000:0000:0000:00aa:00ff:fe00:0001", "IB/RoCE v1", "eth1");
    tree.add_gid("mlx5_0", 3, "0000:0000:0000:0000:0000:0000:0000:0000", "", "");

    const DeviceInfo device = read_device(tree.roots(), "mlx5_0");
    CHECK(device.backend == "verbs");
    CHECK(device.driver == "mlx5_core");
    CHECK(device.firmware == "28.39.1002");
    CHECK(device.node_guid == "00aa:00ff:fe00:0001");
    CHECK(device.numa_node == 1);
    REQUIRE(device.ports.size() == 1);
    const PortInfo& port = device.ports[0];
    CHECK(port.state == PortState::active);
    CHECK(port.phys_state == "LinkUp");
    CHECK(port.rate_gbps == Approx(100));
    REQUIRE(port.gids.size() == 2);
    CHECK(port.gids[0].index == 2);
    CHECK(port.gids[0].gid == "fe80::aa:ff:fe00:1");
    CHECK(port.gids[0].type == "RoCE v1");
    CHECK(port.gids[1].index == 10);
    CHECK(port.gids[1].gid == "::ffff:10.9.0.1");
    CHECK(port.gids[1].type == "RoCE v2");
    CHECK(port.gids[1].netdev == "eth1");
}

TEST_CASE("a GID on InfiniBand has no RoCE version") {
    FixtureTree tree;
    tree.add_device("mlx5_0", 0);
    tree.write("sys/class/infiniband/mlx5_0/ports/1/link_layer", "InfiniBand");
    tree.write("sys/class/infiniband/mlx5_0/ports/1/lid", "0x1d");
    tree.add_gid("mlx5_0", 0, "fe80:0000:0000:0000:e41d:2d03:0050:4d61", "IB/RoCE v1", "");
    const DeviceInfo device = read_device(tree.roots(), "mlx5_0");
    CHECK(device.ports[0].gids[0].type == "IB");
    CHECK(device.ports[0].lid == 29);
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
