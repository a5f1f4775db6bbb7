#include "boot/environment.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include <unistd.h>

#include <fmt/format.h>

#include <verbena/error.hpp>

#include "boot/launchers.hpp"

namespace verbena {
namespace boot {
namespace {

constexpr std::string_view prefix = "VERBENA_";
/// Not the library's: those of the test suites and of the guest that they run in.
constexpr std::array<std::string_view, 2> foreign = {"VERBENA_GUEST_", "VERBENA_TEST_"};

/// "VERBENA_RECEIVE_WINDOW" -> "receive-window".
std::string setting_of(std::string_view variable) {
    std::string name(variable.substr(prefix.size()));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(c == '_' ? '-' : std::tolower(c)); });
    return name;
}

void set(Settings& settings, std::string_view name, const std::string& value, Source source,
         const std::string& origin) {
    try {
        settings.set(name, value, source, origin);
    } catch (const Error& error) {
        throw Error(error.code(), fmt::format("environment variable {}: {}", origin, error.what()), error.advice());
    }
}

} // namespace

Settings settings_from(const Environment& environment) {
    Settings settings;
    const Launch launch = read_launcher([&](const std::string& name) -> std::optional<std::string> {
        const auto found = environment.find(name);
        return found == environment.end() ? std::nullopt : std::optional(found->second);
    });
    for (const Given& given : launch.given) set(settings, given.setting, given.value, Source::launcher, given.origin);
    for (const auto& [name, value] : environment) {
        const auto starts_it = [&name = name](std::string_view start) { return name.starts_with(start); };
        if (!starts_it(prefix) || std::any_of(foreign.begin(), foreign.end(), starts_it)) continue;
        set(settings, setting_of(name), value, Source::environment, name);
    }
    return settings;
}

} // namespace boot

Settings Settings::from_environment() {
    boot::Environment environment;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const std::size_t equals = text.find('=');
        if (equals != std::string_view::npos) environment.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    return boot::settings_from(environment);
}

} // namespace verbena
