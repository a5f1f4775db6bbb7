#include "pair.hpp"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <verbena/error.hpp>

#include "addresses.hpp"
#include "launch.hpp"
#include "notice.hpp"

namespace verbena::tools {
namespace {

/// A listener waits for a person to walk to the other machine.
constexpr const char* listening_limit = "10min";

bool is_default(const Settings& settings, std::string_view name) {
    return std::any_of(settings.all().begin(), settings.all().end(), [&](const Setting& setting) {
        return setting.name == name && setting.source == Source::built_in;
    });
}

bool has_secret(const Settings& settings) { return settings.is_set("secret") || settings.is_set("secret-file"); }

/// "10.0.0.1", "10.0.0.1:7000", "[fd00::2]:7000", "fd00::2" -> host:port
std::string store_of(const PairOptions& pair) {
    const std::string& host = pair.host;
    const bool is_bracketed = host.starts_with('[');
    const std::size_t colon = host.rfind(':');
    const bool is_bare_v6 = !is_bracketed && colon != std::string::npos && host.find(':') != colon;
    if (is_bare_v6) return host_and_port(host, pair.tcp_port);
    const bool has_port = colon != std::string::npos && (!is_bracketed || host[colon - 1] == ']');
    return has_port ? host : fmt::format("{}:{}", host, pair.tcp_port);
}

} // namespace

void add_pair_options(CLI::App& command, PairOptions& pair, bool with_local) {
    command.add_option("HOST", pair.host, "the listening end, host or host:port; without it this end listens");
    command
        .add_option("-p,--tcp-port", pair.tcp_port, fmt::format("TCP port where the ends meet [{}]", default_tcp_port))
        ->check(CLI::Range(1, 65535).description(""))
        ->type_name("PORT");
    if (with_local) command.add_flag("--local", pair.local, "run both ends on this machine");
}

std::string host_and_port(const std::string& host, std::uint16_t port) {
    return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

Role role_of(const PairOptions& pair, const Settings& settings) {
    if (pair.local && !pair.host.empty()) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("--local runs both ends here, so \"{}\" has no place", pair.host),
                    "leave one of the two out");
    }
    if (!settings.is_set("rank")) {
        return pair.local ? Role::launch : pair.host.empty() ? Role::listen : Role::connect;
    }
    if (!pair.host.empty()) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("a launcher made this rank {} of a job, so \"{}\" has no place", settings.text("rank"),
                                pair.host),
                    "leave HOST out, or unset VERBENA_RANK");
    }
    return Role::member;
}

Settings listening(Settings settings, const PairOptions& pair, const std::string& address, const std::string& secret) {
    settings.set("rank", "0");
    settings.set("size", "2");
    settings.set("store", host_and_port(settings.is_set("bind") ? settings.text("bind") : address, pair.tcp_port));
    if (!has_secret(settings)) settings.set("secret", secret, Source::built_in);
    if (is_default(settings, "connect-timeout")) settings.set("connect-timeout", listening_limit, Source::built_in);
    return settings;
}

Settings connecting(Settings settings, const PairOptions& pair) {
    settings.set("rank", "1");
    settings.set("size", "2");
    settings.set("store", store_of(pair));
    if (!has_secret(settings)) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("no secret is given, so {} would refuse us", settings.text("store")),
                    "copy the command that the listening end printed: VERBENA_SECRET=... in front of this one");
    }
    return settings;
}

Settings pair_settings(Role role, const PairOptions& pair, const Options& options,
                       const std::vector<std::string>& other_command) {
    Settings settings = settings_of(options);
    if (role == Role::member) return settings;
    if (role == Role::connect) return connecting(std::move(settings), pair);
    const std::string address = reachable_address(settings);
    const std::string secret = has_secret(settings) ? std::string() : random_secret();
    settings = listening(std::move(settings), pair, address, secret);

    std::vector<std::string> line = {"verbena"};
    line.insert(line.end(), other_command.begin(), other_command.end());
    line.push_back(pair.tcp_port == default_tcp_port ? address : host_and_port(address, pair.tcp_port));
    notice(fmt::format("waiting at {}, at most {}; start the other end with", host_and_port(address, pair.tcp_port),
                       settings.text("connect-timeout")));
    fmt::print(stderr, "  {}{}\n", secret.empty() ? "" : fmt::format("VERBENA_SECRET={} ", secret), shell_line(line));
    return settings;
}

int launch_pair(const Options& options) {
    return launch({.ranks = 2, .command = own_command(options.arguments), .report_exit_status = false});
}

} // namespace verbena::tools
