#include "options.hpp"

#include <algorithm>
#include <array>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace verbena::tools {
namespace {

struct Group {
    std::string_view heading;
    std::array<std::string_view, 11> settings;
};

/// Headings of --help. A setting that is not here is listed all the same, see group_of().
constexpr std::array groups = {
    Group{"Job",
          {"rank", "size", "local-rank", "local-size", "store", "store-external", "bind", "advertise", "interface",
           "secret", "secret-file"}},
    Group{"Device",
          {"wire", "transport", "ud-from", "device", "port", "gid-index", "mtu", "ack-timeout", "retry-count", "gpu",
           "gpu-ipc"}},
    Group{"Messages",
          {"send-depth", "receive-window", "eager-limit", "inline-limit", "unexpected-limit", "backlog-limit",
           "ordering", "order-trace", "spin-polls", "threads"}},
};

/// Settings that belong to one machine, or to nobody's screen.
constexpr std::array<std::string_view, 14> private_settings = {
    "rank",   "local-rank",  "local-size", "store", "bind",      "advertise",      "interface",
    "secret", "secret-file", "device",     "port",  "gid-index", "store-external", "order-trace"};

std::string help_text(const Setting& setting) {
    if (setting.value.empty()) return setting.description;
    const bool has_unit = !setting.unit.empty() && setting.value.find_first_not_of("0123456789") == std::string::npos;
    return fmt::format("{} [{}{}]", setting.description, setting.value, has_unit ? " " + setting.unit : "");
}

std::string placeholder(const Setting& setting) {
    std::string text = setting.unit.empty() ? "value" : setting.unit;
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return text;
}

bool is_quiet_word(const std::string& word) {
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+:,./@%";
    return !word.empty() && word.find_first_not_of(plain) == std::string::npos;
}

} // namespace

std::string_view group_of(const Setting& setting) {
    for (const Group& group : groups) {
        if (std::find(group.settings.begin(), group.settings.end(), setting.name) != group.settings.end())
            return group.heading;
    }
    return setting.unit == "duration" ? "Time limits" : "Other settings";
}

void add_global_options(CLI::App& app, Options& options) {
    app.add_flag("--json", options.json, "print JSON: one document, or an object a line where results come one by one");
    app.add_flag("-v,--verbose", options.verbosity,
                 "say on stderr which device is used and why; twice: also what was passed over");
    const std::map<std::string, Color> colors = {
        {"auto", Color::automatic}, {"always", Color::always}, {"never", Color::never}};
    app.add_option("--color", options.color, "colour the output: auto, always, never [auto]")
        ->transform(CLI::Transformer(colors).description(""))
        ->check(CLI::IsMember({Color::automatic, Color::always, Color::never}).description(""))
        ->type_name("WHEN");
    const Settings built_in;
    for (const Setting& setting : built_in.all()) {
        app.add_option_function<std::string>(
               "--" + setting.name,
               [&options, name = setting.name](const std::string& value) { options.settings[name] = value; },
               help_text(setting))
            ->type_name(placeholder(setting))
            ->group(std::string(group_of(setting)));
    }
}

Settings settings_of(const Options& options) {
    Settings settings = Settings::from_environment();
    for (const auto& [name, value] : options.settings) settings.set(name, value, Source::option, "--" + name);
    return settings;
}

std::vector<std::string> portable_arguments(const std::vector<std::string>& arguments,
                                            const std::vector<std::string>& dropped) {
    const auto is_dropped = [&](std::string_view option) {
        return std::find(dropped.begin(), dropped.end(), option) != dropped.end() ||
               (option.starts_with("--") && std::find(private_settings.begin(), private_settings.end(),
                                                      option.substr(2)) != private_settings.end());
    };
    std::vector<std::string> kept;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string_view option = std::string_view(arguments[i]).substr(0, arguments[i].find('='));
        if (!is_dropped(option))
            kept.push_back(arguments[i]);
        else if (option.size() == arguments[i].size())
            ++i; // the value is the next argument
    }
    return kept;
}

std::string shell_line(const std::vector<std::string>& arguments) {
    std::string line;
    for (const std::string& word : arguments) {
        if (!line.empty()) line += ' ';
        if (is_quiet_word(word)) {
            line += word;
            continue;
        }
        line += '\'';
        for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
        line += '\'';
    }
    return line;
}

} // namespace verbena::tools
