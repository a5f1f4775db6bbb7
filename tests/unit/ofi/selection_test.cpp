#include "catch.hpp"

#include "ofi/selection.hpp"

using namespace verbena;

namespace {

DeviceInfo device(const std::string& name, const std::string& driver, const std::string& problem = {}) {
    DeviceInfo info;
    info.backend = "ofi";
    info.name = name;
    info.driver = driver;
    info.same_host_only = name == "shm";
    info.problem = problem;
    return info;
}

std::string names(const std::vector<Selection>& chosen) {
    std::string text;
    for (const Selection& each : chosen) text += each.device + " ";
    return text;
}

} // namespace

TEST_CASE("shared memory is chosen when every rank is on this host, then TCP, and nothing else by rule") {
    const std::vector devices{device("tcp", "tcp;ofi_rxm"), device("shm", "shm"), device("sockets", "sockets")};
    const auto [size, local, expected] = GENERATE(table<const char*, const char*, const char*>({
        {"4", "4", "shm tcp "},
        {"4", "2", "tcp "},
        {"4", "", "tcp "},
        {"", "", "tcp "},
        {"1", "", "shm tcp "},
    }));
    CAPTURE(size, local);
    Settings settings;
    settings.set("size", size);
    settings.set("local-size", local);
    std::vector<Rejection> rejected;
    const std::vector<Selection> chosen = ofi::choose_devices(devices, settings, rejected);
    CHECK(names(chosen) == expected);
    CHECK(chosen.size() + rejected.size() == devices.size());
    for (const Selection& each : chosen) CHECK_FALSE(each.reason.empty());
    for (const Rejection& each : rejected) CHECK_FALSE(each.reason.empty());
}

TEST_CASE("the setting device forces a provider by either of its names") {
    const std::vector devices{device("tcp", "tcp;ofi_rxm"), device("shm", "shm"), device("udp;ofi_rxd", "udp;ofi_rxd")};
    const auto [wanted, expected] = GENERATE(table<const char*, const char*>(
        {{"tcp", "tcp "}, {"tcp;ofi_rxm", "tcp "}, {"udp;ofi_rxd", "udp;ofi_rxd "}, {"mlx5_0", ""}}));
    CAPTURE(wanted);
    Settings settings;
    settings.set("device", wanted);
    std::vector<Rejection> rejected;
    CHECK(names(ofi::choose_devices(devices, settings, rejected)) == expected);
    CHECK(rejected.size() == (*expected == 0 ? 3 : 2));
}

TEST_CASE("forcing shared memory on ranks of several hosts is warned about") {
    const std::vector devices{device("shm", "shm")};
    Settings settings;
    settings.set("device", "shm");
    settings.set("size", "4");
    settings.set("local-size", "2");
    std::vector<Rejection> rejected;
    const auto chosen = ofi::choose_devices(devices, settings, rejected);
    REQUIRE(chosen.size() == 1);
    CHECK_THAT(chosen[0].warning, VERBENA_CONTAINS("2 of 4 ranks"));
}

TEST_CASE("a provider with a problem is passed over, forced or not, and the problem is the reason") {
    const std::vector devices{device("tcp", "net", "has none of it")};
    Settings settings;
    if (GENERATE(true, false)) settings.set("device", "tcp");
    std::vector<Rejection> rejected;
    CHECK(ofi::choose_devices(devices, settings, rejected).empty());
    REQUIRE(rejected.size() == 1);
    CHECK(rejected[0].reason == "has none of it");
}
