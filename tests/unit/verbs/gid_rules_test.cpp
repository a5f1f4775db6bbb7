#include "catch.hpp"

#include <algorithm>

#include <verbena/settings.hpp>

#include "verbs/gid_rules.hpp"

using namespace verbena;
using namespace verbena::verbs;

namespace {

constexpr bool here = true;

PortInfo port_with(std::vector<GidInfo> gids, PortState state = PortState::active) {
    PortInfo port;
    port.state = state;
    port.phys_state = state == PortState::active ? "LinkUp" : "Disabled";
    port.link_layer = "Ethernet";
    port.rate_gbps = 100;
    port.gids = std::move(gids);
    return port;
}

DeviceInfo device_with(std::string name, PortInfo port) {
    DeviceInfo device;
    device.backend = "verbs";
    device.name = std::move(name);
    device.ports.push_back(std::move(port));
    return device;
}

/// The table that most RoCE ports have.
std::vector<GidInfo> usual_gids(bool is_here = here) {
    return {{0, "fe80::1", "RoCE v1", "eth1", is_here},
            {1, "fe80::1", "RoCE v2", "eth1", is_here},
            {2, "::ffff:10.0.0.1", "RoCE v1", "eth1", is_here},
            {3, "::ffff:10.0.0.1", "RoCE v2", "eth1", is_here}};
}

struct Choice {
    std::vector<Selection> candidates;
    std::vector<Rejection> rejected;

    [[nodiscard]] bool rejects(const std::string& what, const std::string& reason) const {
        return std::any_of(rejected.begin(), rejected.end(), [&](const Rejection& each) {
            return each.what.find(what) != std::string::npos && each.reason.find(reason) != std::string::npos;
        });
    }
};

Choice choose(const std::vector<DeviceInfo>& devices,
              std::initializer_list<std::pair<const char*, const char*>> settings = {}) {
    Settings all;
    for (const auto& [name, value] : settings) all.set(name, value);
    Choice choice;
    choice.candidates = candidates(devices, all, choice.rejected);
    return choice;
}

} // namespace

TEST_CASE("P14: of link-local and IPv4 GIDs of both RoCE versions, IPv4 on RoCE v2 is chosen and said") {
    const Choice choice = choose({device_with("mlx5_0", port_with(usual_gids()))});
    REQUIRE(choice.candidates.size() == 1);
    const Selection& best = choice.candidates[0];
    CHECK(best.backend == "verbs");
    CHECK(best.device == "mlx5_0");
    CHECK(best.port == 1);
    CHECK(best.gid_index == 3);
    CHECK_THAT(best.reason, VERBENA_CONTAINS("::ffff:10.0.0.1 (RoCE v2, eth1)"));
    CHECK(best.warning.empty());
    CHECK(choice.rejected.size() == 3);
    CHECK(choice.rejects("GID 0", "RoCE v1 is not routed"));
    CHECK(choice.rejects("GID 1", "link-local"));
    CHECK(choice.rejects("GID 2", "RoCE v1 is not routed; GID 3 comes before it"));
}

TEST_CASE("the order of GIDs is RoCE version, then reach, then index") {
    auto [first, second, expected] = GENERATE(table<GidInfo, GidInfo, int>({
        {{0, "::ffff:10.0.0.1", "RoCE v1", "eth1", here}, {1, "fe80::1", "RoCE v2", "eth1", here}, 1},
        {{0, "2001:db8::1", "RoCE v2", "eth1", here}, {1, "::ffff:10.0.0.1", "RoCE v2", "eth1", here}, 1},
        {{0, "fe80::1", "RoCE v2", "eth1", here}, {1, "2001:db8::1", "RoCE v2", "eth1", here}, 1},
        {{4, "::ffff:10.0.0.1", "RoCE v2", "eth1", here}, {5, "::ffff:10.0.0.2", "RoCE v2", "eth1", here}, 4},
        {{4, "::ffff:10.0.0.1", "RoCE v2", "eth1", !here}, {5, "fe80::1", "RoCE v1", "eth1", here}, 5},
    }));
    const Choice choice = choose({device_with("mlx5_0", port_with({first, second}))});
    REQUIRE(choice.candidates.size() == 1);
    CHECK(choice.candidates[0].gid_index == expected);
}

TEST_CASE("P14: a forced GID is taken, with one line of warning where the rule would not take it") {
    auto [index, warning] = GENERATE(table<const char*, const char*>({
        {"0", "RoCE v1 is not routed"},
        {"1", "link-local GID is not routed"},
        {"2", "RoCE v1 is not routed"},
        {"3", ""},
    }));
    const Choice choice = choose({device_with("mlx5_0", port_with(usual_gids()))}, {{"gid-index", index}});
    REQUIRE(choice.candidates.size() == 1);
    CHECK(choice.candidates[0].gid_index == std::stoi(index));
    CHECK_THAT(choice.candidates[0].reason, VERBENA_CONTAINS("gid-index"));
    CHECK(choice.candidates[0].warning.empty() == std::string(warning).empty());
    CHECK_THAT(choice.candidates[0].warning, VERBENA_CONTAINS(warning));
    CHECK(choice.candidates[0].warning.find('\n') == std::string::npos);
}

TEST_CASE("a forced GID that is not in the table is refused with those that are") {
    const Choice choice = choose({device_with("mlx5_0", port_with(usual_gids()))}, {{"gid-index", "9"}});
    CHECK(choice.candidates.empty());
    CHECK(choice.rejects("mlx5_0 port 1 GID 9", "used ones: 0, 1, 2, 3"));
}

TEST_CASE("P15: GIDs of other network namespaces are passed over, each with the reason") {
    std::vector<GidInfo> gids = usual_gids(!here);
    gids.push_back({4, "::ffff:10.1.0.7", "RoCE v2", "net1", here});
    const Choice choice = choose({device_with("mlx5_0", port_with(gids))});
    REQUIRE(choice.candidates.size() == 1);
    CHECK(choice.candidates[0].gid_index == 4);
    CHECK(choice.rejected.size() == 4);
    CHECK(
        choice.rejects("GID 3 ::ffff:10.0.0.1 (RoCE v2, eth1)", "its interface eth1 is not in this network namespace"));
}

TEST_CASE("P15: where every GID belongs to another namespace, all are listed with the way to force one") {
    const Choice choice = choose({device_with("rxe1", port_with(usual_gids(!here)))}, {{"device", "rxe1"}});
    CHECK(choice.candidates.empty());
    CHECK(choice.rejected.size() == 4);
    CHECK(choice.rejects("GID 3", "device rxe1 with gid-index 3 takes it all the same"));

    const Choice forced =
        choose({device_with("rxe1", port_with(usual_gids(!here)))}, {{"device", "rxe1"}, {"gid-index", "3"}});
    REQUIRE(forced.candidates.size() == 1);
    CHECK_THAT(forced.candidates[0].warning, VERBENA_CONTAINS("not in this network namespace"));
}

TEST_CASE("P60: the automatic choice passes over a port that is down") {
    const Choice choice = choose(
        {device_with("rxe1", port_with(usual_gids(), PortState::down)), device_with("rxe2", port_with(usual_gids()))});
    REQUIRE(choice.candidates.size() == 1);
    CHECK(choice.candidates[0].device == "rxe2");
    CHECK(choice.rejects("rxe1 port 1", "the port is DOWN (physical state Disabled)"));
}

TEST_CASE("P60: an explicit choice of a port that is down leaves nothing, with both states") {
    const Choice choice = choose({device_with("rxe1", port_with(usual_gids(), PortState::down))},
                                 {{"device", "rxe1"}, {"gid-index", "3"}});
    CHECK(choice.candidates.empty());
    CHECK(choice.rejects("rxe1 port 1", "the port is DOWN (physical state Disabled): ip link set eth1 up"));
}

TEST_CASE("an InfiniBand port in INIT points to the subnet manager") {
    PortInfo port = port_with({{0, "fe80::1", "IB", "", false}}, PortState::init);
    port.link_layer = "InfiniBand";
    CHECK_THAT(port_problem(port), VERBENA_CONTAINS("INIT"));
    CHECK_THAT(port_problem(port), VERBENA_CONTAINS("subnet manager"));
}

TEST_CASE("on InfiniBand GID 0 is used, without an interface and without a warning") {
    PortInfo port = port_with({{0, "fe80::1", "IB", "", false}, {1, "2001:db8::1", "IB", "", false}});
    port.link_layer = "InfiniBand";
    const Choice choice = choose({device_with("mlx5_0", port)});
    REQUIRE(choice.candidates.size() == 1);
    CHECK(choice.candidates[0].gid_index == 0);
    CHECK(choice.candidates[0].warning.empty());
}

TEST_CASE("ports come best GID first, then fastest, then as enumerated") {
    const std::vector<GidInfo> good{{0, "::ffff:10.0.0.1", "RoCE v2", "eth1", here}};
    const std::vector<GidInfo> poor{{0, "fe80::1", "RoCE v2", "eth2", here}};
    PortInfo fast = port_with(good);
    fast.rate_gbps = 400;
    const Choice choice = choose({device_with("poor", port_with(poor)), device_with("first", port_with(good)),
                                  device_with("second", port_with(good)), device_with("fast", fast)});
    std::vector<std::string> names;
    for (const Selection& each : choice.candidates) names.push_back(each.device);
    CHECK(names == std::vector<std::string>{"fast", "first", "second", "poor"});
    CHECK_THAT(choice.candidates[3].warning, VERBENA_CONTAINS("there is no better one"));
}

TEST_CASE("an unknown device or port lists those there are") {
    const std::vector<DeviceInfo> devices{device_with("rxe1", port_with(usual_gids())),
                                          device_with("rxe2", port_with(usual_gids()))};
    const Choice device = choose(devices, {{"device", "rxe7"}});
    CHECK(device.candidates.empty());
    CHECK(device.rejects("device rxe7", "there are rxe1 ("));
    const Choice port = choose(devices, {{"device", "rxe1"}, {"port", "2"}});
    CHECK(port.candidates.empty());
    CHECK(port.rejects("rxe1 port 2", "it has 1"));
    CHECK(choose({}, {{"device", "rxe7"}}).rejects("device rxe7", "no RDMA devices at all"));
}

TEST_CASE("P20: a network interface stands for the device behind it, and one without says which devices there are") {
    const auto gids = usual_gids();
    const std::vector<DeviceInfo> devices{device_with("rxe1", port_with(gids))};
    const std::string& netdev = gids.back().netdev;
    CHECK(choose(devices, {{"device", netdev.c_str()}}).candidates.size() == 1);
    const Choice plain = choose(devices, {{"device", "eth9"}});
    CHECK(plain.candidates.empty());
    CHECK(plain.rejects("device eth9", "lies behind a network interface of that name; there are rxe1 (" + netdev));
}

TEST_CASE("P64: a broken device is passed over with its problem, and hides no other") {
    DeviceInfo broken = device_with("mlx5_0", port_with(usual_gids()));
    broken.problem = "present, but its device node /dev/infiniband/uverbs0 is missing";
    const Choice choice = choose({broken, device_with("mlx5_1", port_with(usual_gids()))});
    REQUIRE(choice.candidates.size() == 1);
    CHECK(choice.candidates[0].device == "mlx5_1");
    CHECK(choice.rejects("mlx5_0", "uverbs0 is missing"));
}

TEST_CASE("P63: the partition key is the first full member's, else the first limited one's") {
    using Table = std::vector<std::uint16_t>;
    auto [keys, expected] = GENERATE(table<Table, int>({{Table{0x7fff, 0x8001}, 1},
                                                        {Table{0xffff, 0x8001}, 0},
                                                        {Table{0, 0x7fff}, 1},
                                                        {Table{0, 0}, -1},
                                                        {Table{}, -1}}));
    CHECK(choose_pkey(keys) == expected);
}

TEST_CASE("a GID's reach follows from its address") {
    CHECK(reach_of("::ffff:10.0.0.1") == Reach::ipv4);
    CHECK(reach_of("fe80::1") == Reach::link_local);
    CHECK(reach_of("febf::1") == Reach::link_local);
    CHECK(reach_of("fec0::1") == Reach::ipv6);
    CHECK(reach_of("fd00::1") == Reach::ipv6);
}

TEST_CASE("transport auto is rc for few ranks and ud from ud-from on; a wish is a wish") {
    auto [transport, ranks, limit, chosen] = GENERATE(table<const char*, const char*, const char*, const char*>({
        {"auto", "", "64", "rc"},
        {"auto", "2", "64", "rc"},
        {"auto", "63", "64", "rc"},
        {"auto", "64", "64", "ud"},
        {"auto", "3", "2", "ud"},
        {"rc", "1000", "64", "rc"},
        {"ud", "2", "64", "ud"},
    }));
    CAPTURE(transport, ranks, limit);
    Settings settings;
    settings.set("transport", transport);
    settings.set("size", ranks);
    settings.set("ud-from", limit);
    const verbs::TransportChoice choice = verbs::choose_transport(settings);
    CHECK(choice.transport == chosen);
    CHECK_THAT(choice.reason, VERBENA_CONTAINS(chosen));
}
