#include "verbs/gid_rules.hpp"

#include <algorithm>
#include <tuple>

#include <arpa/inet.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <verbena/settings.hpp>

namespace verbena::verbs {
namespace {

std::string where(const DeviceInfo& device, const PortInfo& port) {
    return fmt::format("{} port {}", device.name, port.number);
}

std::string where(const DeviceInfo& device, const PortInfo& port, const GidInfo& gid) {
    return fmt::format("{} GID {} {}", where(device, port), gid.index, describe(gid));
}

bool is_ethernet(const PortInfo& port) { return port.link_layer == "Ethernet"; }

/// Smaller is better.
auto rank_of(const GidInfo& gid) { return std::tuple(gid.type != "RoCE v2", reach_of(gid.gid), gid.index); }

std::string elsewhere(const GidInfo& gid) {
    return gid.netdev.empty() ? "no network interface is behind it"
                              : fmt::format("its interface {} is not in this network namespace", gid.netdev);
}

/// What is wrong with a GID on Ethernet that may be used all the same; empty when nothing is.
std::string weakness(const GidInfo& gid) {
    if (gid.type != "RoCE v2") return fmt::format("{} is not routed", gid.type);
    if (reach_of(gid.gid) == Reach::link_local) return "a link-local GID is not routed";
    return {};
}

Selection selected(const DeviceInfo& device, const PortInfo& port, const GidInfo& gid) {
    Selection selection;
    selection.backend = backend_name;
    selection.device = device.name;
    selection.port = port.number;
    selection.gid_index = gid.index;
    return selection;
}

Selection forced(const DeviceInfo& device, const PortInfo& port, const GidInfo& gid) {
    Selection selection = selected(device, port, gid);
    selection.reason = fmt::format("GID {} {} was asked for by gid-index", gid.index, describe(gid));
    if (!is_ethernet(port)) return selection;
    std::string doubt = weakness(gid);
    if (!gid.netdev_is_here) doubt = doubt.empty() ? elsewhere(gid) : doubt + ", and " + elsewhere(gid);
    if (!doubt.empty()) selection.warning = fmt::format("{}: {}", where(device, port, gid), doubt);
    return selection;
}

/// One port's view of the settings and the list of what was passed over.
class PortChoice {
  public:
    PortChoice(const DeviceInfo& device, const PortInfo& port, std::vector<Rejection>& rejected)
        : device_(device), port_(port), rejected_(rejected) {}

    void force(int index, std::vector<Selection>& out) {
        const auto gid = std::find_if(port_.gids.begin(), port_.gids.end(),
                                      [index](const GidInfo& entry) { return entry.index == index; });
        if (gid != port_.gids.end()) {
            out.push_back(forced(device_, port_, *gid));
            return;
        }
        std::string known;
        for (const GidInfo& entry : port_.gids) known += fmt::format("{}{}", known.empty() ? "" : ", ", entry.index);
        reject(fmt::format("{} GID {}", where(device_, port_), index),
               fmt::format("the entry is empty; used ones: {}", known.empty() ? "none" : known));
    }

    void choose(std::vector<Selection>& out) {
        const GidInfo* best = is_ethernet(port_) ? best_of_ethernet() : best_of_infiniband();
        if (best == nullptr) return;
        Selection selection = selected(device_, port_, *best);
        selection.reason =
            fmt::format("port {} is ACTIVE; GID {} {} comes first by rule", port_.number, best->index, describe(*best));
        if (const std::string doubt = is_ethernet(port_) ? weakness(*best) : ""; !doubt.empty()) {
            selection.warning = fmt::format("{}: {}, and there is no better one", where(device_, port_, *best), doubt);
        }
        out.push_back(std::move(selection));
    }

  private:
    void reject(std::string what, std::string reason) { rejected_.push_back({std::move(what), std::move(reason)}); }

    const GidInfo* best_of_infiniband() {
        for (const GidInfo& gid : port_.gids) {
            if (gid.index == 0) return &gid;
        }
        reject(where(device_, port_), "GID 0 is empty");
        return nullptr;
    }

    const GidInfo* best_of_ethernet() {
        const GidInfo* best = nullptr;
        for (const GidInfo& gid : port_.gids) {
            if (gid.netdev_is_here && (best == nullptr || rank_of(gid) < rank_of(*best))) best = &gid;
        }
        if (port_.gids.empty()) reject(where(device_, port_), "its GID table is empty: give its interface an address");
        for (const GidInfo& gid : port_.gids) {
            if (&gid == best) continue;
            if (!gid.netdev_is_here) {
                reject(where(device_, port_, gid), fmt::format("{}; device {} with gid-index {} takes it all the same",
                                                               elsewhere(gid), device_.name, gid.index));
            } else {
                const std::string doubt = weakness(gid);
                reject(where(device_, port_, gid),
                       fmt::format("{}{}GID {} comes before it", doubt, doubt.empty() ? "" : "; ", best->index));
            }
        }
        return best;
    }

    const DeviceInfo& device_;
    const PortInfo& port_;
    std::vector<Rejection>& rejected_;
};

bool lies_behind(const DeviceInfo& device, std::string_view netdev) {
    return std::any_of(device.ports.begin(), device.ports.end(), [&](const PortInfo& port) {
        return std::any_of(port.gids.begin(), port.gids.end(),
                           [&](const GidInfo& gid) { return gid.netdev == netdev; });
    });
}

/// "eth0, eth1": the network interfaces in front of a device.
std::string interfaces_of(const DeviceInfo& device) {
    std::vector<std::string_view> names;
    for (const PortInfo& port : device.ports) {
        for (const GidInfo& gid : port.gids) {
            if (!gid.netdev.empty() && std::find(names.begin(), names.end(), gid.netdev) == names.end()) {
                names.push_back(gid.netdev);
            }
        }
    }
    return fmt::format("{}", fmt::join(names, ", "));
}

/// One device: a candidate for each usable port, a rejection for everything else.
void consider(const DeviceInfo& device, const Settings& settings, std::vector<Selection>& out,
              std::vector<Rejection>& rejected) {
    if (!device.problem.empty()) {
        rejected.push_back({device.name, device.problem});
        return;
    }
    bool port_seen = false;
    for (const PortInfo& port : device.ports) {
        if (settings.is_set("port") && settings.number("port") != port.number) continue;
        port_seen = true;
        if (std::string problem = port_problem(port); !problem.empty()) {
            rejected.push_back({where(device, port), std::move(problem)});
            continue;
        }
        PortChoice choice(device, port, rejected);
        if (settings.is_set("gid-index")) {
            choice.force(static_cast<int>(settings.number("gid-index")), out);
        } else {
            choice.choose(out);
        }
    }
    if (port_seen) return;
    rejected.push_back({fmt::format("{} port {}", device.name, settings.text("port")),
                        fmt::format("there is no such port; it has {}", device.ports.size())});
}

/// GIDs of the candidates again, to order ports among each other: better GID, then faster port, then as enumerated.
struct Order {
    std::span<const DeviceInfo> devices;

    auto key(const Selection& selection) const {
        for (const DeviceInfo& device : devices) {
            if (device.name != selection.device) continue;
            for (const PortInfo& port : device.ports) {
                if (port.number != selection.port) continue;
                for (const GidInfo& gid : port.gids) {
                    if (gid.index != selection.gid_index) continue;
                    const bool infiniband = !is_ethernet(port);
                    return std::tuple(!infiniband && gid.type != "RoCE v2",
                                      infiniband ? Reach::ipv4 : reach_of(gid.gid), -port.rate_gbps);
                }
            }
        }
        return std::tuple(true, Reach::link_local, 0.0);
    }
    bool operator()(const Selection& a, const Selection& b) const { return key(a) < key(b); }
};

} // namespace

std::string gid_text(const Gid& gid) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    inet_ntop(AF_INET6, gid.data(), text.data(), text.size());
    return text.data();
}

Reach reach_of(std::string_view gid) {
    if (gid.starts_with("::ffff:") && gid.find('.') != std::string_view::npos) return Reach::ipv4;
    // fe80::/10: the first group is fe80 to febf.
    const bool link_local = gid.size() > 4 && gid.starts_with("fe") && gid[4] == ':' &&
                            std::string_view("89ab").find(gid[2]) != std::string_view::npos;
    return link_local ? Reach::link_local : Reach::ipv6;
}

std::string describe(const GidInfo& gid) {
    return fmt::format("{} ({}{}{})", gid.gid, gid.type, gid.netdev.empty() ? "" : ", ", gid.netdev);
}

std::string port_problem(const PortInfo& port) {
    if (port.state == PortState::active) return {};
    std::string hint;
    if (is_ethernet(port)) {
        hint = port.gids.empty() || port.gids.front().netdev.empty()
                   ? "bring its network interface up"
                   : fmt::format("ip link set {} up", port.gids.front().netdev);
    } else {
        hint =
            port.state == PortState::init ? "no subnet manager has configured it" : "look at the cable and the switch";
    }
    return fmt::format("the port is {} (physical state {}): {}", name(port.state), port.phys_state, hint);
}

int choose_pkey(std::span<const std::uint16_t> table) {
    int limited = -1;
    for (std::size_t index = 0; index < table.size(); ++index) {
        if ((table[index] & 0x8000) != 0) return static_cast<int>(index);
        if (limited < 0 && table[index] != 0) limited = static_cast<int>(index);
    }
    return limited;
}

TransportChoice choose_transport(const Settings& settings) {
    const std::string& wanted = settings.text("transport");
    if (wanted != "auto") return {wanted, fmt::format("transport {} was asked for", wanted)};
    const std::int64_t ranks = settings.is_set("size") ? settings.number("size") : 1;
    const std::int64_t limit = settings.number("ud-from");
    const bool many = ranks >= limit;
    return {many ? "ud" : "rc",
            fmt::format("transport {}: {} ranks, and ud-from is {}", many ? "ud" : "rc", ranks, limit)};
}

std::vector<Selection> candidates(std::span<const DeviceInfo> devices, const Settings& settings,
                                  std::vector<Rejection>& rejected) {
    std::vector<Selection> result;
    const std::string& wanted = settings.text("device");
    std::string known;
    bool seen = false;
    for (const DeviceInfo& device : devices) {
        const std::string netdevs = interfaces_of(device);
        known += fmt::format("{}{}{}{}{}", known.empty() ? "" : ", ", device.name, netdevs.empty() ? "" : " (", netdevs,
                             netdevs.empty() ? "" : ")");
        if (!wanted.empty() && wanted != device.name && !lies_behind(device, wanted)) continue;
        seen = true;
        consider(device, settings, result, rejected);
    }
    if (!wanted.empty() && !seen) {
        rejected.push_back(
            {fmt::format("device {}", wanted),
             known.empty()
                 ? "there are no RDMA devices at all"
                 : "no RDMA device is called so or lies behind a network interface of that name; there are " + known});
    }
    std::stable_sort(result.begin(), result.end(), Order{devices});
    const TransportChoice transport = choose_transport(settings);
    for (Selection& selection : result) {
        selection.transport = transport.transport;
        selection.reason += "; " + transport.reason;
    }
    return result;
}

} // namespace verbena::verbs
