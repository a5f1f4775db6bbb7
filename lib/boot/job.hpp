/// @file
/// A process's place in its job, read from its settings.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <verbena/settings.hpp>

#include "boot/store_client.hpp"
#include "boot/store_server.hpp"

namespace verbena::boot {

struct StoreAddress {
    std::string host;
    std::uint16_t port = 0;
};

/// "host:4000", "10.0.0.1:4000", "[fe80::1]:4000", or "4000" for a port of this host.
/// @throws Error (invalid_argument) that says what is accepted.
[[nodiscard]] StoreAddress parse_store_address(std::string_view text);

struct Job {
    std::uint32_t rank = 0;
    std::uint32_t size = 1;
    std::uint32_t local_rank = 0; ///< among the ranks of this host; 0 where no launcher says
    std::uint32_t local_size = 1;
    StoreAddress store;       ///< of a job of one rank: empty, it needs none
    bool hosts_store = false; ///< this process must run the StoreServer
    std::string bind;         ///< for it
    std::string secret;
    std::chrono::nanoseconds connect_timeout{};
    std::chrono::nanoseconds peer_timeout{};

    [[nodiscard]] StoreServer::Options server_options() const;
    [[nodiscard]] StoreClient::Options client_options() const;
};

/// @throws Error that names the setting, what it holds and what is needed. A secret file that others can read is
/// refused.
[[nodiscard]] Job job_from(const Settings& settings);

} // namespace verbena::boot
