#include "addresses.hpp"

#include <array>
#include <memory>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <verbena/settings.hpp>

namespace verbena::tools {
namespace {

/// Smaller is better; above `unusable` it is not taken.
enum Preference : int { ipv4, ipv6, unusable };

Preference preference_of(const ifaddrs& entry) {
    if (entry.ifa_addr == nullptr || (entry.ifa_flags & IFF_UP) == 0 || (entry.ifa_flags & IFF_LOOPBACK) != 0)
        return unusable;
    if (entry.ifa_addr->sa_family == AF_INET) return ipv4;
    if (entry.ifa_addr->sa_family != AF_INET6) return unusable;
    const auto& address = reinterpret_cast<const sockaddr_in6*>(entry.ifa_addr)->sin6_addr;
    return IN6_IS_ADDR_LINKLOCAL(&address) ? unusable : ipv6;
}

std::string text_of(const sockaddr* address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* bytes = address->sa_family == AF_INET
                            ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(address)->sin_addr)
                            : static_cast<const void*>(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
    return inet_ntop(address->sa_family, bytes, text.data(), text.size()) != nullptr ? text.data() : "";
}

} // namespace

std::string reachable_address(const Settings& settings) {
    for (const char* name : {"advertise", "bind"}) {
        if (settings.is_set(name)) return settings.text(name);
    }
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) return "127.0.0.1";
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
    const std::string& wanted = settings.text("interface");
    std::string best = "127.0.0.1";
    Preference best_preference = unusable;
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
        if (!wanted.empty() && wanted != entry->ifa_name) continue;
        if (const Preference preference = preference_of(*entry); preference < best_preference) {
            best_preference = preference;
            best = text_of(entry->ifa_addr);
        }
    }
    return best;
}

} // namespace verbena::tools
