#include "ofi/source_address.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>
#include <verbena/error.hpp>

namespace verbena::ofi {
namespace {

/// Address as numbers; empty for what is neither IPv4 nor IPv6.
std::string numeric(const sockaddr* address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* bytes = nullptr;
    if (address->sa_family == AF_INET) bytes = &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
    if (address->sa_family == AF_INET6) bytes = &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
    if (bytes == nullptr) return {};
    return inet_ntop(address->sa_family, bytes, text.data(), text.size());
}

bool is_link_local(const sockaddr* address) {
    if (address->sa_family == AF_INET6) {
        return IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
    }
    // 169.254.0.0/16 (RFC 3927)
    return (ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr) >> 16) == 0xa9fe;
}

const InterfaceAddress* first_usable(std::span<const InterfaceAddress> addresses, std::string_view interface) {
    for (const bool ipv6 : {false, true}) {
        for (const InterfaceAddress& candidate : addresses) {
            if (candidate.is_ipv6 != ipv6 || candidate.is_link_local) continue;
            if (interface.empty() ? !candidate.is_loopback : candidate.interface == interface) return &candidate;
        }
    }
    return nullptr;
}

bool is_loopback(std::span<const InterfaceAddress> addresses, const std::string& address) {
    return std::any_of(addresses.begin(), addresses.end(),
                       [&](const auto& entry) { return entry.address == address && entry.is_loopback; });
}

bool is_wildcard(std::string_view host) { return host == "0.0.0.0" || host == "::" || host == "*"; }

[[noreturn]] void throw_unknown_interface(const std::string& wanted, std::span<const InterfaceAddress> addresses) {
    std::string known;
    for (const InterfaceAddress& entry : addresses) {
        if (!entry.is_link_local)
            known += fmt::format("{}{} ({})", known.empty() ? "" : ", ", entry.interface, entry.address);
    }
    throw Error(ErrorCode::invalid_argument, fmt::format("setting interface: \"{}\" has no usable IP address", wanted),
                fmt::format("those that are up have: {}", known.empty() ? "none" : known));
}

} // namespace

std::string host_part(std::string_view address) {
    if (address.starts_with('[')) return std::string(address.substr(1, address.find(']') - 1));
    const std::size_t colon = address.find(':');
    const bool has_port = colon != std::string_view::npos && address.find(':', colon + 1) == std::string_view::npos;
    return std::string(has_port ? address.substr(0, colon) : address);
}

SourceAddress choose_source(const Settings& settings, std::span<const InterfaceAddress> interfaces,
                            const std::string& route) {
    const std::string advertise = host_part(settings.text("advertise"));
    std::string bind = host_part(settings.text("bind"));
    // Every address is no address that a peer could be told.
    if (is_wildcard(bind) && advertise.empty()) bind.clear();
    if (!bind.empty() && !advertise.empty()) return {bind, advertise, "the settings bind and advertise"};
    if (!advertise.empty()) return {advertise, {}, "the setting advertise"};
    if (!bind.empty()) return {bind, {}, "the setting bind"};
    if (settings.is_set("interface")) {
        const InterfaceAddress* found = first_usable(interfaces, settings.text("interface"));
        if (found == nullptr) throw_unknown_interface(settings.text("interface"), interfaces);
        return {found->address, {}, "the setting interface"};
    }
    if (!route.empty() && !is_loopback(interfaces, route)) return {route, {}, "packets to the store leave from it"};
    if (const InterfaceAddress* found = first_usable(interfaces, {}); found != nullptr) {
        return {found->address, {}, fmt::format("first address of {}", found->interface)};
    }
    return {"127.0.0.1", {}, "this host has no other address than loopback"};
}

std::vector<InterfaceAddress> interface_addresses() {
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) return {};
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, &freeifaddrs);
    std::vector<InterfaceAddress> addresses;
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
        if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
        std::string text = numeric(entry->ifa_addr);
        if (text.empty()) continue;
        addresses.push_back({entry->ifa_name, std::move(text), entry->ifa_addr->sa_family == AF_INET6,
                             (entry->ifa_flags & IFF_LOOPBACK) != 0, is_link_local(entry->ifa_addr)});
    }
    return addresses;
}

std::string route_source(const std::string& host) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_DGRAM;
    addrinfo* list = nullptr;
    // Port 9 (discard): a connected datagram socket only looks up the route.
    if (host.empty() || getaddrinfo(host.c_str(), "9", &hints, &list) != 0) return {};
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, &freeaddrinfo);
    const int socket_fd = socket(list->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket_fd < 0) return {};
    sockaddr_storage source{};
    socklen_t length = sizeof(source);
    std::string text;
    if (connect(socket_fd, list->ai_addr, list->ai_addrlen) == 0 &&
        getsockname(socket_fd, reinterpret_cast<sockaddr*>(&source), &length) == 0) {
        text = numeric(reinterpret_cast<const sockaddr*>(&source));
    }
    close(socket_fd);
    return text;
}

} // namespace verbena::ofi
