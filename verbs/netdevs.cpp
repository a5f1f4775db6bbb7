#include "verbs/netdevs.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include "verbs/gid_rules.hpp"

namespace verbena::verbs {
namespace {

Netdev& entry_for(std::vector<Netdev>& netdevs, const char* name) {
    const auto found =
        std::find_if(netdevs.begin(), netdevs.end(), [name](const Netdev& netdev) { return netdev.name == name; });
    if (found != netdevs.end()) return *found;
    return netdevs.emplace_back(Netdev{name, if_nametoindex(name), {}});
}

/// The address as the GID that RoCE makes of it; empty for other families.
std::string as_gid(const sockaddr* address) {
    Gid gid{};
    if (address == nullptr) return {};
    if (address->sa_family == AF_INET6) {
        sockaddr_in6 in6{};
        std::memcpy(&in6, address, sizeof in6);
        std::memcpy(gid.data(), &in6.sin6_addr, gid.size());
    } else if (address->sa_family == AF_INET) {
        sockaddr_in in{};
        std::memcpy(&in, address, sizeof in);
        gid[10] = gid[11] = std::byte{0xff};
        std::memcpy(&gid[12], &in.sin_addr, sizeof in.sin_addr);
    } else {
        return {};
    }
    return gid_text(gid);
}

} // namespace

Netdevs Netdevs::of_this_namespace() {
    std::vector<Netdev> netdevs;
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) return Netdevs({});
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, freeifaddrs);
    for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
        Netdev& netdev = entry_for(netdevs, at->ifa_name);
        if (std::string text = as_gid(at->ifa_addr); !text.empty()) netdev.addresses.push_back(std::move(text));
    }
    return Netdevs(std::move(netdevs));
}

bool Netdevs::contains(std::string_view name, unsigned index, std::string_view gid) const {
    const auto found =
        std::find_if(netdevs_.begin(), netdevs_.end(), [name](const Netdev& netdev) { return netdev.name == name; });
    if (found == netdevs_.end() || (index != 0 && index != found->index)) return false;
    // The link-local GID is made of the hardware address and may be no address of the interface.
    if (reach_of(gid) == Reach::link_local) return true;
    return std::find(found->addresses.begin(), found->addresses.end(), gid) != found->addresses.end();
}

} // namespace verbena::verbs
