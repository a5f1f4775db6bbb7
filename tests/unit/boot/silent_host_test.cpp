/// A host that falls silent, without a word from its kernel, is a lost rank. Needs a network namespace of its own, so
/// it is a program without Catch2: 0 passed, 1 failed, 77 the system gives no user namespace.
#include <cstdio>
#include <cstring>

#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>

#include "boot/socket.hpp"
#include "boot/store_connect.hpp"
#include "store_fixture.hpp"

using namespace verbena;
using namespace verbena::boot;
using namespace verbena::boot::test;

namespace {

/// linux/ipv6.h's in6_ifreq, which does not go together with netinet/in.h.
struct Ipv6Request {
    in6_addr address;
    std::uint32_t prefix_length;
    int interface_index;
};

bool bring_loopback_up(int fd) {
    ifreq request{};
    std::strcpy(request.ifr_name, "lo");
    request.ifr_flags = IFF_UP;
    return ioctl(fd, SIOCSIFFLAGS, &request) == 0;
}

/// From here on nothing reaches ::1, and nothing is said about it: what a host does whose power fails.
bool silence_ipv6(int fd) {
    Ipv6Request request{in6addr_loopback, 128, static_cast<int>(if_nametoindex("lo"))};
    return ioctl(fd, SIOCDIFADDR, &request) == 0;
}

int fail(const char* what) {
    std::fprintf(stderr, "failed: %s: %s\n", what, std::strerror(errno));
    return 1;
}

} // namespace

int main() {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
        std::puts(
            "skipped: no user namespaces here (kernel.unprivileged_userns_clone, or a container's seccomp profile)");
        return 77;
    }
    const FileDescriptor v4(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!bring_loopback_up(v4.get())) return fail("bringing lo up");
    const FileDescriptor v6(socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!v6) {
        std::puts("skipped: no IPv6 in this kernel");
        return 77;
    }
    try {
        const StoreServer server({.secret = "s", .size = 2, .peer_timeout = 1s});
        StoreClient::Options options{.host = "127.0.0.1", .port = server.port(), .secret = "s", .rank = 0, .size = 2};
        StoreClient heard(options);
        options.host = "::1";
        options.rank = 1;
        const StoreConnection silent = connect_to_store(options);
        if (!silence_ipv6(v6.get())) return fail("taking ::1 away");
        const Error error = error_of([&] { heard.barrier("x", in(60s)); });
        std::printf("%s\n", error.what());
        const auto lost = heard.poll_lost();
        return lost.size() == 1 && lost[0].rank == 1u && error.code() == ErrorCode::peer_lost ? 0 : 1;
    } catch (const Error& error) {
        return fail(error.what());
    }
}
