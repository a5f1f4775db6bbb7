/// @file
/// This host's addresses, and which of them peers are told. The host's own name is never resolved for it: containers
/// and Debian's installer map it to loopback, where no other host finds us.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace verbena::boot {

/// Where an interface's packets go, in the order in which they are preferred.
enum class InterfaceKind : std::uint8_t {
    physical, ///< has a device behind it
    software, ///< a VLAN, bond, tunnel or veth
    bridge,   ///< a bridge, Docker's or libvirt's for instance: as a rule its addresses mean this host alone
    loopback,
};

/// One address of one interface.
struct InterfaceAddress {
    std::string interface; ///< "eth0"
    std::string address;   ///< "10.0.0.1", "fe80::1%eth0"
    InterfaceKind kind = InterfaceKind::physical;
    bool is_up = true; ///< administratively, and with carrier
};

/// Looks at the system. Never throws for lack of addresses.
[[nodiscard]] std::vector<InterfaceAddress> list_addresses();

/// What the settings of the same names ask for; empty: nothing.
struct AddressWishes {
    std::string bind;
    std::string advertise;
    std::string interface;
    bool has_remote_peers = true; ///< some rank is on another host
    std::string towards_store;    ///< the address by which this host reaches the store, if known
};

struct AddressChoice {
    std::string address;
    std::string reason; ///< one sentence
};

/// Pure. @throws Error (unavailable, invalid_argument) that lists every candidate with what is wrong with it.
[[nodiscard]] AddressChoice choose_address(const std::vector<InterfaceAddress>& addresses, const AddressWishes& wishes);

} // namespace verbena::boot
