#include "catch.hpp"

#include "verbs/netdevs.hpp"

using namespace verbena::verbs;

TEST_CASE("P15: an interface counts as ours by name, index and address") {
    const Netdevs ours({{"eth0", 2, {"::ffff:10.0.0.5", "2001:db8::5"}}, {"lo", 1, {"::ffff:127.0.0.1"}}});
    auto [name, index, gid, here] = GENERATE(table<const char*, unsigned, const char*, bool>({
        {"eth0", 2u, "::ffff:10.0.0.5", true},
        {"eth0", 2u, "2001:db8::5", true},
        {"eth0", 0u, "::ffff:10.0.0.5", true},    // index not known
        {"eth0", 2u, "fe80::aa:ff:fe00:1", true}, // made of the hardware address
        {"eth0", 7u, "::ffff:10.0.0.5", false},   // the same name in another namespace
        {"eth0", 2u, "::ffff:10.0.0.6", false},   // the same name and index in another namespace
        {"eth1", 2u, "::ffff:10.0.0.5", false},
        {"", 0u, "::ffff:10.0.0.5", false},
    }));
    CAPTURE(name, index, gid);
    CHECK(ours.contains(name, index, gid) == here);
}

TEST_CASE("the loopback interface of this namespace is found") {
    const Netdevs netdevs = Netdevs::of_this_namespace();
    CHECK(netdevs.contains("lo", 0, "::ffff:127.0.0.1"));
    CHECK_FALSE(netdevs.contains("lo", 0, "::ffff:127.0.0.2"));
}
