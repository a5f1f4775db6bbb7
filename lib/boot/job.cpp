#include "boot/job.hpp"

#include <charconv>

#include <fmt/format.h>

#include <verbena/error.hpp>

#include "boot/secret.hpp"

namespace verbena::boot {
namespace {

constexpr std::string_view this_host = "127.0.0.1";

[[noreturn]] void bad_address(std::string_view text, std::string_view why) {
    throw Error(ErrorCode::invalid_argument, fmt::format("store is \"{}\": {}", text, why),
                "write HOST:PORT, [IPV6]:PORT, or PORT for this host");
}

std::uint16_t parse_port(std::string_view port, std::string_view text) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), value);
    if (error != std::errc() || end != port.data() + port.size() || value == 0 || value > 65535) {
        bad_address(text, fmt::format("\"{}\" is not a port from 1 to 65535", port));
    }
    return static_cast<std::uint16_t>(value);
}

std::uint32_t number_or(const Settings& settings, std::string_view name, std::uint32_t fallback) {
    return settings.is_set(name) ? static_cast<std::uint32_t>(settings.number(name)) : fallback;
}

void check_place(const Job& job, const Settings& settings) {
    if (job.size > 1 && !settings.is_set("rank")) {
        throw Error(ErrorCode::invalid_argument, fmt::format("size is {}, and this process has no rank", job.size),
                    "give each process its own --rank (VERBENA_RANK), or use a launcher: torchrun, srun, mpirun");
    }
    if (job.rank >= job.size) {
        throw Error(ErrorCode::invalid_argument, fmt::format("rank {} is not below size {}", job.rank, job.size),
                    "ranks count from 0; --size (VERBENA_SIZE) is the number of all of them");
    }
    if (job.local_rank >= job.local_size) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("local-rank {} is not below local-size {}", job.local_rank, job.local_size),
                    "set local-size to the number of ranks on this host");
    }
}

} // namespace

StoreAddress parse_store_address(std::string_view text) {
    if (text.starts_with('[')) {
        const std::size_t close = text.find("]:");
        if (close == std::string_view::npos || close == 1)
            bad_address(text, "brackets hold an IPv6 address and are followed by :PORT");
        return {std::string(text.substr(1, close - 1)), parse_port(text.substr(close + 2), text)};
    }
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return {std::string(this_host), parse_port(text, text)};
    if (text.find(':', colon + 1) != std::string_view::npos) bad_address(text, "an IPv6 address needs brackets");
    if (colon == 0) bad_address(text, "the host is missing");
    return {std::string(text.substr(0, colon)), parse_port(text.substr(colon + 1), text)};
}

Job job_from(const Settings& settings) {
    Job job;
    job.rank = number_or(settings, "rank", 0);
    job.size = number_or(settings, "size", 1);
    job.local_rank = number_or(settings, "local-rank", 0);
    job.local_size = number_or(settings, "local-size", job.local_rank + 1); // Slurm gives the rank alone
    check_place(job, settings);
    job.bind = settings.text("bind");
    job.connect_timeout = settings.duration("connect-timeout");
    job.peer_timeout = settings.duration("peer-timeout");
    if (job.size == 1) return job;

    if (!settings.is_set("store")) {
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format("a job of {} ranks needs a store to meet at, and neither setting nor launcher names one",
                        job.size),
            "give every rank --store HOST:PORT (VERBENA_STORE): the host of rank 0 and a free port on it; with mpirun: "
            "-x VERBENA_STORE=HOST:PORT");
    }
    job.store = parse_store_address(settings.text("store"));
    job.hosts_store = job.rank == 0 && settings.text("store-external") != "yes";
    job.secret = secret_from(settings, job.size);
    return job;
}

StoreServer::Options Job::server_options() const {
    return {.bind = bind,
            .port = store.port,
            .secret = secret,
            .size = size,
            .store_rank = rank,
            .peer_timeout = peer_timeout};
}

StoreClient::Options Job::client_options() const {
    // From its own host the address told to the others need not work: that of a NAT, say.
    const std::string local = bind.empty() || bind == "0.0.0.0" ? std::string(this_host) : bind == "::" ? "::1" : bind;
    return {.host = hosts_store ? local : store.host,
            .port = store.port,
            .secret = secret,
            .rank = rank,
            .size = size,
            .connect_timeout = connect_timeout,
            .peer_timeout = peer_timeout};
}

} // namespace verbena::boot
