#include "catch.hpp"

#include <algorithm>

#include <verbena/error.hpp>

#include "boot/interfaces.hpp"

using namespace verbena;
using namespace verbena::boot;

namespace {

const InterfaceAddress loopback{"lo", "127.0.0.1", InterfaceKind::loopback};
const InterfaceAddress loopback6{"lo", "::1", InterfaceKind::loopback};
const InterfaceAddress mapped_name{"eth0", "127.0.1.1", InterfaceKind::physical};
const InterfaceAddress link_local{"eth0", "fe80::1%eth0", InterfaceKind::physical};
const InterfaceAddress zeroconf{"eth3", "169.254.7.7", InterfaceKind::physical};
const InterfaceAddress docker{"docker0", "172.17.0.1", InterfaceKind::bridge};
const InterfaceAddress bond{"bond0", "10.2.0.1", InterfaceKind::software};
const InterfaceAddress down{"eth9", "10.9.0.1", InterfaceKind::physical, false};
const InterfaceAddress eth0{"eth0", "10.0.0.1", InterfaceKind::physical};
const InterfaceAddress eth0_6{"eth0", "2001:db8::1", InterfaceKind::physical};
const InterfaceAddress eth1{"eth1", "10.1.0.1", InterfaceKind::physical};

} // namespace

TEST_CASE("the address that peers are told follows one order") {
    auto [addresses, expected] = GENERATE(table<std::vector<InterfaceAddress>, std::string>({
        {{loopback, docker, eth0}, "10.0.0.1"},
        {{loopback, mapped_name, eth0}, "10.0.0.1"},
        {{down, bond, docker}, "10.2.0.1"},
        {{docker, bond, eth0_6}, "2001:db8::1"},
        {{eth0_6, eth0, eth1}, "10.0.0.1"},
        {{eth1, eth0}, "10.1.0.1"},
        {{link_local, zeroconf, docker}, "172.17.0.1"},
        {{loopback, link_local}, "fe80::1%eth0"},
        {{loopback, docker}, "172.17.0.1"},
    }));
    const AddressChoice choice = choose_address(addresses, {});
    CHECK(choice.address == expected);
    CHECK_FALSE(choice.reason.empty());
}

TEST_CASE("loopback is never told to a remote peer, whatever asks for it") {
    auto [what, wishes] = GENERATE(table<std::string, AddressWishes>({{"rule", {}},
                                                                      {"bind", {.bind = "127.0.0.1"}},
                                                                      {"bind to a mapped name", {.bind = "127.0.1.1"}},
                                                                      {"bind v6", {.bind = "::1"}},
                                                                      {"advertise", {.advertise = "127.0.1.1"}},
                                                                      {"advertise a name", {.advertise = "localhost"}},
                                                                      {"interface", {.interface = "lo"}},
                                                                      {"route", {.towards_store = "127.0.0.1"}}}));
    INFO(what);
    try {
        const auto choice = choose_address({loopback, loopback6, mapped_name, down}, wishes);
        FAIL("chose " << choice.address);
    } catch (const Error& error) {
        CHECK_THAT(error.what(), VERBENA_CONTAINS("127.0.0.1 (lo): loopback, and some ranks are on other hosts") &&
                                     VERBENA_CONTAINS("127.0.1.1 (eth0): loopback") &&
                                     VERBENA_CONTAINS("10.9.0.1 (eth9): interface is down"));
        CHECK_THAT(error.advice(), VERBENA_CONTAINS("--interface") && VERBENA_CONTAINS("VERBENA_ADVERTISE"));
    }
}

TEST_CASE("ranks of one host may meet on loopback when there is nothing else") {
    AddressWishes wishes;
    wishes.has_remote_peers = false;
    CHECK(choose_address({loopback}, wishes).address == "127.0.0.1");
    CHECK(choose_address({loopback, eth0}, wishes).address == "10.0.0.1");
    wishes.bind = "127.0.0.1";
    CHECK(choose_address({loopback, eth0}, wishes).address == "127.0.0.1");
}

TEST_CASE("settings come before the rule, and say so") {
    const std::vector<InterfaceAddress> all = {loopback, eth0, eth1, docker, down};
    auto [wishes, expected, reason] = GENERATE(table<AddressWishes, std::string, std::string>({
        {{.bind = "10.1.0.1", .advertise = "203.0.113.5", .interface = "docker0"}, "203.0.113.5", "advertise"},
        {{.bind = "10.1.0.1", .interface = "docker0"}, "10.1.0.1", "bind"},
        {{.bind = "0.0.0.0", .interface = "docker0"}, "172.17.0.1", "interface"},
        {{.bind = "::", .towards_store = "10.1.0.1"}, "10.1.0.1", "reaches the store from it (eth1)"},
        {{.towards_store = "10.9.0.1"}, "10.0.0.1", "physical interface (eth0)"},
    }));
    const AddressChoice choice = choose_address(all, wishes);
    CHECK(choice.address == expected);
    CHECK_THAT(choice.reason, VERBENA_CONTAINS(reason));
}

TEST_CASE("an interface without a usable address is named with what there is") {
    const std::string interface = GENERATE("eth9", "nosuch0");
    AddressWishes wishes;
    wishes.interface = interface;
    CHECK_THROWS_WITH(choose_address({eth0, down}, wishes),
                      VERBENA_CONTAINS("interface \"" + interface + "\"") && VERBENA_CONTAINS("10.0.0.1 (eth0)"));
    CHECK_THROWS_WITH(choose_address({}, {}), VERBENA_CONTAINS("no address at all"));
}

TEST_CASE("the system's list has loopback as such") {
    const auto addresses = list_addresses();
    const auto found =
        std::find_if(addresses.begin(), addresses.end(), [](const auto& a) { return a.address == "127.0.0.1"; });
    if (found == addresses.end()) return; // loopback has no address in this network namespace
    CHECK(found->kind == InterfaceKind::loopback);
}
