/// How the ranks of a job come together: four meetings at the store. At each, a rank that cannot go on says why, so
/// that every rank that is there ends with that reason rather than with a time-out.
///
///   hosts        version and host of each rank
///   candidates   the transports that each could use -> one transport for all
///   addresses    where each rank's queue pairs are
///   connected    nobody sends before both ends are ready
#include "api/runtime_core.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <sys/random.h>

#include <verbena/version.hpp>

#include "api/backends.hpp"
#include "api/device_choice.hpp"
#include "api/host_identity.hpp"
#include "boot/interfaces.hpp"
#include "reliable/device.hpp"
#include "wire/backend.hpp"

namespace verbena::detail {
namespace {

using nlohmann::json;
using Deadline = RuntimeCore::Clock::time_point;

/// Every rank gives `value()` or the Error it threw; throws when any rank did.
std::vector<std::string> meet(RuntimeCore& core, const char* name, Deadline deadline,
                              const std::function<std::string()>& value) {
    std::string own;
    std::optional<Error> own_error;
    try {
        own = "+" + value();
    } catch (const Error& error) {
        own_error = error;
    } catch (const std::exception& error) {
        own_error = Error(ErrorCode::internal, fmt::format("{}: {}", name, error.what()));
    }
    if (own_error) own = fmt::format("-{}", own_error->what());
    if (core.job.size == 1) {
        if (own_error) throw *own_error;
        return {own.substr(1)};
    }
    if (own_error) {
        // Those who are here learn it now. Those who are not are not waited for.
        try {
            (void)core.store->exchange(name, own, RuntimeCore::Clock::now() + std::chrono::milliseconds(200));
        } catch (const Error&) {
            // What stopped us is what the caller must hear.
        }
        throw *own_error;
    }
    std::vector<std::string> values = core.store->exchange(name, own, deadline);
    for (std::size_t rank = 0; rank < values.size(); ++rank) {
        if (values[rank].starts_with('-')) {
            throw Error(ErrorCode::refused,
                        fmt::format("rank {} could not take part: {}", rank, values[rank].substr(1)));
        }
        values[rank].erase(0, 1);
    }
    return values;
}

/// What another rank told, read by `read`. @throws Error (protocol_violation) naming the rank for anything else.
template <class Read>
auto told(std::uint32_t rank, const std::string& text, Read&& read) {
    try {
        return read(json::parse(text));
    } catch (const std::exception& error) {
        throw Error(ErrorCode::protocol_violation,
                    fmt::format("rank {} told what makes no sense: {}", rank, error.what()),
                    "run one version on every host");
    }
}

/// Rank 0's is the job's.
std::uint64_t random_identity() {
    std::uint64_t identity = 0;
    if (getrandom(&identity, sizeof identity, 0) != sizeof identity) {
        throw Error(ErrorCode::unavailable, "getrandom gave no random bytes");
    }
    return identity;
}

void join_store(RuntimeCore& core) {
    if (core.job.size == 1) return;
    boot::StoreClient::Options client = core.job.client_options();
    if (core.job.hosts_store) {
        core.server = std::make_unique<boot::StoreServer>(core.job.server_options());
        client.port = core.server->port();
    }
    core.store = std::make_unique<boot::StoreClient>(client);
}

/// Tells the backends by which address this host is reached, when some rank is on another one.
void choose_advertised_address(RuntimeCore& core) {
    boot::AddressWishes wishes;
    wishes.bind = core.settings.text("bind");
    wishes.advertise = core.settings.text("advertise");
    wishes.interface = core.settings.text("interface");
    wishes.towards_store = core.store->local_host();
    const boot::AddressChoice chosen = boot::choose_address(boot::list_addresses(), wishes);
    core.settings.set("advertise", chosen.address, Source::built_in, chosen.reason);
}

/// Sorted; empty where memory of GPUs is not to be shared.
std::vector<std::string> gpu_uuids(const RuntimeCore& core) {
    std::vector<std::string> uuids;
    if (core.settings.text("gpu-ipc") == "off") return uuids;
    for (const GpuInfo& gpu : core.spaces->gpus()) uuids.push_back(gpu.uuid);
    std::sort(uuids.begin(), uuids.end());
    return uuids;
}

/// First the hosts, since the rule for devices depends on them; then what each rank could use.
void agree(RuntimeCore& core, Deadline deadline) {
    const Inventory inventory = take_inventory();
    core.settings.set("size", std::to_string(core.job.size), Source::launcher, "the job");
    const std::vector<std::string> gpus = gpu_uuids(core);
    const auto hosts = meet(core, "hosts", deadline, [&] {
        // Nothing usable, wherever the others may be: that is said before anybody is waited for.
        Settings hopeful = core.settings;
        hopeful.set("local-size", std::to_string(core.job.size));
        (void)find_candidates(inventory, hopeful);
        return json{{"version", VERBENA_VERSION}, {"host", host_identity()}, {"job", random_identity()}, {"gpus", gpus}}
            .dump();
    });
    core.identity = told(0, hosts[0], [](const json& value) { return value.at("job").get<std::uint64_t>(); });
    std::uint32_t here = 0;
    const std::string own_host = host_identity();
    for (std::uint32_t rank = 0; rank < core.job.size; ++rank) {
        const auto [version, host, theirs] = told(rank, hosts[rank], [](const json& value) {
            return std::tuple(value.at("version").get<std::string>(), value.at("host").get<std::string>(),
                              value.at("gpus").get<std::vector<std::string>>());
        });
        if (version != VERBENA_VERSION) {
            throw Error(ErrorCode::refused,
                        fmt::format("rank {} runs verbena {}, this rank {} runs {}", rank, version, core.job.rank,
                                    VERBENA_VERSION),
                        "run one version on every host");
        }
        if (host == own_host) ++here;
        core.shares_gpus.push_back(host == own_host && !gpus.empty() && rank != core.job.rank &&
                                   std::includes(theirs.begin(), theirs.end(), gpus.begin(), gpus.end()));
    }
    core.settings.set("local-size", std::to_string(here), Source::launcher, "ranks that share this host's memory");

    Candidates candidates;
    const auto transports = meet(core, "candidates", deadline, [&] {
        if (here < core.job.size) choose_advertised_address(core);
        candidates = find_candidates(inventory, core.settings);
        json names = json::array();
        for (const Selection& selection : candidates.selections) names.push_back(transport_of(selection));
        return names.dump();
    });
    std::vector<std::vector<std::string>> by_rank;
    for (std::uint32_t rank = 0; rank < core.job.size; ++rank) {
        by_rank.push_back(
            told(rank, transports[rank], [](const json& value) { return value.get<std::vector<std::string>>(); }));
    }
    const std::string transport = agree_on_transport(by_rank);
    core.selection = *std::find_if(candidates.selections.begin(), candidates.selections.end(),
                                   [&](const Selection& selection) { return transport_of(selection) == transport; });
}

Ordering ordering_named(const std::string& text) {
    for (const Ordering each : {Ordering::relaxed, Ordering::strict}) {
        if (text == name(each)) return each;
    }
    return Ordering::hazard;
}

msg::EngineOptions engine_options(const RuntimeCore& core) {
    const Settings& settings = core.settings;
    msg::EngineOptions options;
    options.job = core.identity;
    options.order_trace = core.order_trace.get();
    options.ordering = ordering_named(settings.text("ordering"));
    options.rank = core.job.rank;
    options.size = core.job.size;
    options.receive_window = static_cast<std::uint32_t>(settings.number("receive-window"));
    options.send_depth = static_cast<std::uint32_t>(settings.number("send-depth"));
    options.eager_limit = static_cast<std::uint32_t>(settings.bytes("eager-limit"));
    options.inline_limit = static_cast<std::uint32_t>(settings.bytes("inline-limit"));
    options.unexpected_limit = settings.bytes("unexpected-limit");
    options.backlog_limit = settings.bytes("backlog-limit");
    options.max_mtu_bytes = static_cast<std::uint32_t>(settings.bytes("mtu"));
    options.ack_timeout = static_cast<std::uint8_t>(settings.number("ack-timeout"));
    options.retry_count = static_cast<std::uint8_t>(settings.number("retry-count"));
    options.shares_gpus = core.shares_gpus;
    return options;
}

/// Our address for each peer, by rank; a hexadecimal string each, since JSON carries no bytes.
std::string own_addresses(const msg::Engine& engine) {
    json addresses = json::array();
    for (std::uint32_t peer = 0; peer < engine.size(); ++peer) {
        if (peer == engine.rank()) {
            addresses.push_back("");
            continue;
        }
        const wire::Address address = engine.address_for(peer);
        const auto* bytes = reinterpret_cast<const std::uint8_t*>(address.data());
        addresses.push_back(fmt::format("{:02x}", fmt::join(bytes, bytes + address.size(), "")));
    }
    return addresses.dump();
}

wire::Address address_from(const std::string& hexadecimal) {
    wire::Address address;
    for (std::size_t i = 0; i + 1 < hexadecimal.size(); i += 2) {
        address.push_back(static_cast<std::byte>(std::stoi(hexadecimal.substr(i, 2), nullptr, 16)));
    }
    return address;
}

/// The chosen device; one of datagrams with our own transport on top.
std::shared_ptr<wire::Device> open_device(const RuntimeCore& core) {
    std::unique_ptr<wire::Device> device = wire::backend(core.selection.backend).open(core.selection, core.settings);
    if (device->capabilities().reliable) return device;
    std::random_device random;
    reliable::Options options;
    options.clock = [] { return static_cast<reliable::Time>(RuntimeCore::Clock::now().time_since_epoch().count()); };
    options.seed = static_cast<std::uint64_t>(random()) << 32 | random();
    options.rank = core.job.rank;
    options.give_up_after = static_cast<reliable::Time>(core.settings.duration("ud-timeout").count());
    return std::make_shared<reliable::Device>(std::move(device), std::move(options));
}

void connect_all(RuntimeCore& core, Deadline deadline) {
    const auto addresses = meet(core, "addresses", deadline, [&] {
        core.device = open_device(core);
        if (core.settings.is_set("order-trace")) {
            core.order_trace = std::make_unique<OrderTraceFile>(core.settings.text("order-trace"), core.job.rank,
                                                                core.device->capabilities());
        }
        core.engine = std::make_unique<msg::Engine>(*core.device, *core.spaces, engine_options(core));
        return own_addresses(*core.engine);
    });
    meet(core, "connected", deadline, [&] {
        for (std::uint32_t peer = 0; peer < core.job.size; ++peer) {
            if (peer == core.job.rank) continue;
            core.engine->connect(peer, told(peer, addresses[peer], [&](const json& value) {
                                     return address_from(value.at(core.job.rank).get<std::string>());
                                 }));
        }
        return std::string();
    });
}

} // namespace

void wire_up(RuntimeCore& core) {
    register_backends();
    const Deadline deadline = RuntimeCore::Clock::now() + core.settings.duration("connect-timeout");
    join_store(core);
    agree(core, deadline);
    connect_all(core, deadline);
    constexpr msg::Context world_context = 1; // 0 is the user's own messages
    // From here on a rank that waits at the store must go on serving its peers: they may wait for its messages.
    if (core.store)
        core.store->call_while_waiting([engine = core.engine.get()] {
            while (engine->progress() > 0) {
            }
        });
    core.world = add_group(core, coll::Members::whole_job(core.job.rank, core.job.size), world_context);
}

} // namespace verbena::detail
