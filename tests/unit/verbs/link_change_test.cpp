/// Cases that change network interfaces. They run only where VERBENA_TEST_CHANGES_LINKS=1 says that they may: in the
/// guest, as root.
#include "link.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include <verbena/settings.hpp>

#include "verbs/backend.hpp"

using namespace verbena;
using namespace verbena::conformance;

namespace {

bool may_change_links() {
    const char* const consent = std::getenv("VERBENA_TEST_CHANGES_LINKS");
    return consent != nullptr && std::string(consent) == "1";
}

/// The first device that the automatic choice takes, with its interface.
struct Subject {
    Selection selection;
    std::string netdev;
};

PortInfo port_now(const std::string& device) {
    for (const DeviceInfo& each : verbs::verbs_backend().enumerate()) {
        if (each.name == device) return each.ports.at(0);
    }
    return {};
}

std::vector<Selection> choose() {
    std::vector<Rejection> rejected;
    const wire::Backend& backend = verbs::verbs_backend();
    return backend.candidates(backend.enumerate(), Settings(), rejected);
}

Subject subject() {
    const Selection first = choose().at(0);
    for (const GidInfo& gid : port_now(first.device).gids) {
        if (gid.index == first.gid_index) return {first, gid.netdev};
    }
    return {};
}

void ip_link(const std::string& netdev, const std::string& change) {
    REQUIRE(std::system(("ip link set dev " + netdev + " " + change).c_str()) == 0);
}

/// The kernel tells the RDMA device in the background; every look is a few system calls.
template <class Condition>
bool becomes(Condition condition) {
    for (int look = 0; look < 2000; ++look) {
        if (condition()) return true;
    }
    return false;
}

} // namespace

#define NEEDS_CONSENT()                                                                                                \
    if (!may_change_links()) VERBENA_SKIP("VERBENA_TEST_CHANGES_LINKS is not 1")

TEST_CASE("P60: a port that goes down is passed over, refused by name with both states, and told as an event") {
    NEEDS_CONSENT();
    CONFORMANCE_PAIR(pair);
    const Subject down = subject();
    CAPTURE(down.selection.device, down.netdev);
    ip_link(down.netdev, "down");
    CHECK(becomes([&] { return port_now(down.selection.device).state == PortState::down; }));
    CHECK(choose().at(0).device != down.selection.device);
    try {
        (void)verbs::verbs_backend().open(down.selection, Settings());
        FAIL("opened");
    } catch (const Error& error) {
        CHECK_THAT(error.what(), VERBENA_CONTAINS("DOWN"));
        CHECK_THAT(error.what(), VERBENA_CONTAINS("physical state " + port_now(down.selection.device).phys_state));
    }
    std::array<wire::AsyncEvent, 8> events;
    std::vector<wire::AsyncEventKind> kinds;
    const auto saw = [&](wire::AsyncEventKind kind) {
        const std::size_t count = pair.a->poll_async(events);
        for (std::size_t i = 0; i < count; ++i) kinds.push_back(events[i].kind);
        return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
    };
    CHECK(becomes([&] { return saw(wire::AsyncEventKind::port_error); }));
    ip_link(down.netdev, "up");
    CHECK(becomes([&] { return port_now(down.selection.device).state == PortState::active; }));
    CHECK(becomes([&] { return saw(wire::AsyncEventKind::port_active); }));
}

TEST_CASE("P18: an interface of MTU 1500 against one of 4200 gives path MTU 1024 at both ends") {
    NEEDS_CONSENT();
    const Subject small = subject();
    ip_link(small.netdev, "mtu 1500");
    REQUIRE(becomes([&] { return port_now(small.selection.device).active_mtu_bytes == 1024; }));
    {
        CONFORMANCE_PAIR(pair);
        Link link(pair);
        CHECK(link.a.qp->describe().local_mtu_bytes == 1024);
        CHECK(link.b.qp->describe().local_mtu_bytes == 4096);
        CHECK(link.a.qp->describe().path_mtu_bytes == 1024);
        CHECK(link.b.qp->describe().path_mtu_bytes == 1024);
        Buffer source(*pair.a, 1u << 20);
        Buffer target(*pair.b, 1u << 20);
        source.fill(1);
        const std::array sges{source.sge()};
        link.a.post(request(1, wire::Opcode::rdma_write, sges, target.remote()));
        REQUIRE(link.wait_sent(link.a, 1));
        CHECK(target.holds(1));
        const std::array back{target.sge()};
        source.clear();
        link.b.post(request(2, wire::Opcode::rdma_write, back, source.remote()));
        REQUIRE(link.wait_sent(link.b, 1));
        CHECK(source.holds(1));
    }
    ip_link(small.netdev, "mtu 4200");
}
