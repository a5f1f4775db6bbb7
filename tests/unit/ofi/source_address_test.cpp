#include "catch.hpp"

#include <verbena/error.hpp>

#include "ofi/source_address.hpp"

using namespace verbena;
using ofi::InterfaceAddress;

namespace {

const std::vector<InterfaceAddress> interfaces{{"lo", "127.0.0.1", false, true, false},
                                               {"eth0", "fe80::1", true, false, true},
                                               {"eth0", "fd00::2", true, false, false},
                                               {"eth0", "192.0.2.2", false, false, false},
                                               {"ib0", "198.51.100.2", false, false, false}};

} // namespace

TEST_CASE("the address to bind to is chosen by settings, then by the route to the store, never loopback") {
    struct Case {
        const char *bind, *advertise, *interface, *route, *bound, *told;
    };
    const auto row = GENERATE(values<Case>({
        {"", "", "", "", "192.0.2.2", ""},
        {"", "", "", "198.51.100.2", "198.51.100.2", ""},
        {"", "", "", "127.0.0.1", "192.0.2.2", ""},
        {"", "", "ib0", "192.0.2.2", "198.51.100.2", ""},
        {"", "203.0.113.9", "", "", "203.0.113.9", ""},
        {"10.0.0.5", "", "", "", "10.0.0.5", ""},
        {"10.0.0.5:7000", "203.0.113.9:7000", "ib0", "", "10.0.0.5", "203.0.113.9"},
        {"0.0.0.0", "", "", "", "192.0.2.2", ""},
        {"0.0.0.0", "203.0.113.9", "", "", "0.0.0.0", "203.0.113.9"},
    }));
    CAPTURE(row.bind, row.advertise, row.interface, row.route);
    Settings settings;
    settings.set("bind", row.bind);
    settings.set("advertise", row.advertise);
    settings.set("interface", row.interface);
    const ofi::SourceAddress source = ofi::choose_source(settings, interfaces, row.route);
    CHECK(source.bind == row.bound);
    CHECK(source.advertise == row.told);
    CHECK_FALSE(source.reason.empty());
}

TEST_CASE("loopback is bound to only where this host has no other address") {
    const std::vector<InterfaceAddress> alone{interfaces[0], interfaces[1]};
    CHECK(ofi::choose_source(Settings(), alone, "").bind == "127.0.0.1");
}

TEST_CASE("an interface without an address is refused, and those that have one are listed") {
    Settings settings;
    settings.set("interface", "eth9");
    try {
        (void)ofi::choose_source(settings, interfaces, "");
        FAIL("taken");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::invalid_argument);
        CHECK_THAT(error.advice(), VERBENA_CONTAINS("ib0 (198.51.100.2)"));
    }
}

TEST_CASE("the host of an address is found with and without a port") {
    const auto [address, host] = GENERATE(table<const char*, const char*>({{"", ""},
                                                                           {"192.0.2.2", "192.0.2.2"},
                                                                           {"192.0.2.2:7000", "192.0.2.2"},
                                                                           {"fd00::2", "fd00::2"},
                                                                           {"[fd00::2]:7000", "fd00::2"},
                                                                           {"[fd00::2]", "fd00::2"},
                                                                           {"head:7000", "head"}}));
    CHECK(ofi::host_part(address) == host);
}
