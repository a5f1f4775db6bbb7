/// `verbena info`: what this machine offers, what a Runtime would choose, every setting.
#include <nlohmann/json.hpp>
#include <verbena/device.hpp>
#include <verbena/error.hpp>
#include <verbena/version.hpp>

#include "command.hpp"
#include "inventory_json.hpp"
#include "notice.hpp"

namespace verbena::tools {
namespace {

/// The choice, or the error of having none; then the exit status is that of the error.
Json choice(const Inventory& inventory, const Settings& settings, int& status) {
    try {
        return to_json(select_device(inventory, settings));
    } catch (const Error& error) {
        report(error);
        status = exit_status_of(error.code());
        return {{"problem", error.what()}, {"advice", error.advice()}};
    }
}

int info(const Options& options) {
    const Settings settings = settings_of(options);
    const Inventory inventory = take_inventory();
    int status = done;
    Json document = {{"version", VERBENA_VERSION}, {"choice", choice(inventory, settings, status)}};
    document.update(to_json(inventory));
    document["settings"] = to_json(settings);
    Output("info", options.json, options.color).document(document);
    return status;
}

} // namespace

Run add_info(CLI::App&) { return info; }

} // namespace verbena::tools
