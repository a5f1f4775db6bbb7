/// @file
/// Which of this host's IP addresses an endpoint binds to, and which one its peers are told.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <verbena/settings.hpp>

namespace verbena::ofi {

struct SourceAddress {
    std::string bind;      ///< host to bind to, as numbers or name
    std::string advertise; ///< host told to peers; empty: the bound one
    std::string reason;
};

/// An address of an interface that is up.
struct InterfaceAddress {
    std::string interface;
    std::string address; ///< as numbers
    bool is_ipv6 = false;
    bool is_loopback = false;
    bool is_link_local = false;
};

/// "192.0.2.2:7000" -> "192.0.2.2", "[fd00::2]:7000" -> "fd00::2"; a bare host stays as it is.
[[nodiscard]] std::string host_part(std::string_view address);

/// The rule, a pure function: the settings `bind` and `advertise`, then `interface`, then the address that packets to
/// the store would leave from, then the first that is neither loopback nor link-local, IPv4 before IPv6. Loopback only
/// where nothing else exists: a peer on another host could not reach it.
/// @param route source address towards the store; empty where there is no store or no route.
/// @throws Error (invalid_argument) naming the interfaces there are when `interface` is none of them.
[[nodiscard]] SourceAddress choose_source(const Settings& settings, std::span<const InterfaceAddress> interfaces,
                                          const std::string& route);

[[nodiscard]] std::vector<InterfaceAddress> interface_addresses();

/// The source address that the routing table gives packets to `host`; sends nothing. Empty: none.
[[nodiscard]] std::string route_source(const std::string& host);

} // namespace verbena::ofi
