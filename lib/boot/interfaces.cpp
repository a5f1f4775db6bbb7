#include "boot/interfaces.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <tuple>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>

#include <fmt/format.h>

#include <verbena/error.hpp>

namespace verbena::boot {
namespace {

InterfaceKind kind_of(const std::string& interface, unsigned flags) {
    if ((flags & IFF_LOOPBACK) != 0) return InterfaceKind::loopback;
    const std::filesystem::path entry = "/sys/class/net/" + interface;
    std::error_code ignored;
    if (std::filesystem::exists(entry / "bridge", ignored)) return InterfaceKind::bridge;
    return std::filesystem::exists(entry / "device", ignored) ? InterfaceKind::physical : InterfaceKind::software;
}

/// A whole numeric address, or empty.
std::string numeric(const sockaddr& address) {
    const socklen_t length = address.sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    std::array<char, NI_MAXHOST> text{};
    return getnameinfo(&address, length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0 ? text.data() : "";
}

bool is_ipv6(std::string_view address) { return address.find(':') != std::string_view::npos; }

/// The network part decides, not the interface: 127.0.1.1 may sit anywhere.
bool is_loopback(std::string_view address) { return address.starts_with("127.") || address == "::1"; }

bool is_link_local(std::string_view address) {
    if (!is_ipv6(address)) return address.starts_with("169.254.");
    return address.size() >= 3 && address.starts_with("fe") &&
           std::string_view("89ab").find(address[2]) != std::string_view::npos;
}

bool is_any(std::string_view address) { return address.empty() || address == "0.0.0.0" || address == "::"; }

/// Smaller is better; equal ones stay in the system's order.
auto order_of(const InterfaceAddress& candidate) {
    return std::tuple(is_link_local(candidate.address), candidate.kind, is_ipv6(candidate.address));
}

/// Why the address cannot be advertised; empty when it can.
std::string problem_of(const InterfaceAddress& candidate, const AddressWishes& wishes) {
    if (!candidate.is_up) return "interface is down";
    if (wishes.has_remote_peers && (candidate.kind == InterfaceKind::loopback || is_loopback(candidate.address))) {
        return "loopback, and some ranks are on other hosts";
    }
    return {};
}

std::string describe(const InterfaceAddress& candidate) {
    return fmt::format("{} ({})", candidate.address, candidate.interface);
}

std::string kind_words(const InterfaceAddress& candidate) {
    const std::string_view scope = is_link_local(candidate.address) ? "a link-local address" : "an address";
    switch (candidate.kind) {
    case InterfaceKind::physical:
        return fmt::format("{} of a physical interface", scope);
    case InterfaceKind::software:
        return fmt::format("{} of a virtual interface", scope);
    case InterfaceKind::bridge:
        return fmt::format("{} of a bridge", scope);
    case InterfaceKind::loopback:
        return "loopback, which all ranks of this host share";
    }
    return {};
}

[[noreturn]] void no_choice(ErrorCode code, const std::string& what, const std::vector<InterfaceAddress>& addresses,
                            const AddressWishes& wishes) {
    std::string list;
    for (const InterfaceAddress& candidate : addresses) {
        const std::string problem = problem_of(candidate, wishes);
        list +=
            fmt::format("{}{}{}", list.empty() ? "" : ", ", describe(candidate), problem.empty() ? "" : ": " + problem);
    }
    throw Error(code, fmt::format("{}; this host has {}", what, list.empty() ? "no address at all" : list),
                "choose with --interface NAME or --advertise ADDRESS (VERBENA_INTERFACE, VERBENA_ADVERTISE)");
}

/// The candidate with this address, if any.
const InterfaceAddress* find(const std::vector<InterfaceAddress>& addresses, std::string_view address) {
    const auto found =
        std::find_if(addresses.begin(), addresses.end(), [&](const auto& a) { return a.address == address; });
    return found == addresses.end() ? nullptr : &*found;
}

} // namespace

std::vector<InterfaceAddress> list_addresses() {
    ifaddrs* raw = nullptr;
    if (getifaddrs(&raw) != 0) return {};
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> list(raw, freeifaddrs);
    std::vector<InterfaceAddress> addresses;
    for (const ifaddrs* entry = list.get(); entry != nullptr; entry = entry->ifa_next) {
        if (entry->ifa_addr == nullptr) continue;
        if (entry->ifa_addr->sa_family != AF_INET && entry->ifa_addr->sa_family != AF_INET6) continue;
        constexpr unsigned working = IFF_UP | IFF_RUNNING;
        addresses.push_back({entry->ifa_name, numeric(*entry->ifa_addr), kind_of(entry->ifa_name, entry->ifa_flags),
                             (entry->ifa_flags & working) == working});
    }
    return addresses;
}

AddressChoice choose_address(const std::vector<InterfaceAddress>& addresses, const AddressWishes& wishes) {
    if (!wishes.advertise.empty()) {
        // May be no address of this host: that of a NAT in front of it, say.
        if (wishes.has_remote_peers && (is_loopback(wishes.advertise) || wishes.advertise == "localhost")) {
            no_choice(ErrorCode::invalid_argument,
                      fmt::format("advertise is {}, which ranks on other hosts cannot reach", wishes.advertise),
                      addresses, wishes);
        }
        return {wishes.advertise, "the setting advertise says so"};
    }
    if (!is_any(wishes.bind)) {
        const InterfaceAddress* bound = find(addresses, wishes.bind);
        const InterfaceAddress assumed{"bind", wishes.bind, InterfaceKind::physical, true};
        if (const std::string problem = problem_of(bound != nullptr ? *bound : assumed, wishes); !problem.empty()) {
            no_choice(ErrorCode::invalid_argument, fmt::format("bind is {}: {}", wishes.bind, problem), addresses,
                      wishes);
        }
        return {wishes.bind, "the store is bound to it alone (setting bind)"};
    }

    std::vector<InterfaceAddress> usable;
    for (const InterfaceAddress& candidate : addresses) {
        const bool is_wanted = wishes.interface.empty() || candidate.interface == wishes.interface;
        if (is_wanted && problem_of(candidate, wishes).empty()) usable.push_back(candidate);
    }
    if (usable.empty()) {
        no_choice(ErrorCode::unavailable,
                  wishes.interface.empty()
                      ? std::string("no address can be told to the other ranks")
                      : fmt::format("interface \"{}\" has no address for the other ranks", wishes.interface),
                  addresses, wishes);
    }
    if (const InterfaceAddress* towards = find(usable, wishes.towards_store)) {
        return {towards->address, fmt::format("this host reaches the store from it ({})", towards->interface)};
    }
    const auto best = std::min_element(usable.begin(), usable.end(),
                                       [](const auto& a, const auto& b) { return order_of(a) < order_of(b); });
    return {best->address, wishes.interface.empty()
                               ? fmt::format("{} ({}), the first by rule", kind_words(*best), best->interface)
                               : fmt::format("the setting interface says {}", wishes.interface)};
}

} // namespace verbena::boot
