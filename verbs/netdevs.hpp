/// @file
/// Network interfaces of this process's network namespace. A device's GID table is shared by all namespaces of a host,
/// so an entry may name an interface of a container that is not ours, and the kernel refuses to use it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace verbena::verbs {

struct Netdev {
    std::string name;
    unsigned index = 0;                 ///< ifindex
    std::vector<std::string> addresses; ///< as GIDs: IPv4 mapped, "::ffff:10.9.0.1"
};

/// A value: the interfaces at the time it was taken.
class Netdevs {
  public:
    static Netdevs of_this_namespace();
    explicit Netdevs(std::vector<Netdev> netdevs) : netdevs_(std::move(netdevs)) {}

    /// Whether the interface behind `gid` is one of these. Names and indices repeat between namespaces ("eth0", 2), so
    /// a routable GID must also be an address of the interface. `index` 0: not known.
    [[nodiscard]] bool contains(std::string_view name, unsigned index, std::string_view gid) const;

  private:
    std::vector<Netdev> netdevs_;
};

} // namespace verbena::verbs
