/// `verbena qp lab`: a scenario drawn step by step, raw verbs and verbena one below the other.
#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <verbena/lab.hpp>

#include "command.hpp"
#include "lab_text.hpp"
#include "notice.hpp"

namespace verbena::tools {
namespace {

struct LabOptions {
    std::string scenario;
    std::uint32_t depth = 0;
    std::uint64_t seed = 1;
    bool list = false;
};

Json to_json(const lab::Report& report) {
    Json acts = Json::array();
    for (const lab::Act& act : report.acts) {
        Json steps = Json::array();
        for (const lab::Step& step : act.steps) {
            steps.push_back(
                {{"action", step.action}, {"ledger", step.ledger}, {"seen", step.seen}, {"failure", step.is_failure}});
        }
        acts.push_back({{"program", act.program},
                        {"title", act.title},
                        {"legend", act.legend},
                        {"steps", steps},
                        {"outcome", act.outcome},
                        {"succeeded", act.succeeded}});
    }
    Json document = {
        {"scenario", report.scenario}, {"title", report.title}, {"device", report.device}, {"depth", report.depth}};
    if (report.seed != 0) document["seed"] = report.seed;
    document["acts"] = acts;
    document["rule"] = report.rule;
    document["differences"] = report.differences;
    return document;
}

void list(Output& output) {
    for (const lab::ScenarioInfo& info : lab::scenarios()) {
        output.line({"scenario",
                     {word("name", "", std::string(info.name)), word("padded", "", fmt::format("{:<18}", info.name)),
                      word("title", "", std::string(info.title)), whole("depth", "", info.default_depth),
                      word("depth_is", "", std::string(info.depth_is))}},
                    "{padded} {title} (--depth {depth}: {depth_is})");
    }
}

int run_lab(const LabOptions& wanted, const Options& options) {
    Output output("qp_lab", options.json, options.color);
    if (wanted.list) {
        list(output);
        return done;
    }
    if (wanted.scenario.empty()) {
        throw Error(ErrorCode::invalid_argument, "which scenario?", "`verbena qp lab --list` shows them");
    }
    const lab::Report report = lab::run({wanted.scenario, wanted.depth, wanted.seed}, settings_of(options));
    if (options.json) {
        output.document(to_json(report));
    } else {
        output.text(lab_text(report, is_colored(options.color, stdout)));
    }
    // That raw verbs lose is the lesson; that verbena does would be a finding.
    return report.acts.back().succeeded ? done : found_failure;
}

} // namespace

Run add_qp(CLI::App& command) {
    command.require_subcommand(1);
    CLI::App* const lab =
        command.add_subcommand("lab", "how raw verbs lose, and what verbena does with the same program")->fallthrough();
    const auto wanted = std::make_shared<LabOptions>();
    lab->add_option("scenario", wanted->scenario, "one of --list");
    lab->add_option("--depth", wanted->depth, "depth of what the scenario is about [as in its story]")
        ->check(CLI::PositiveNumber);
    lab->add_option("--seed", wanted->seed, "of the simulated NIC [1]")->check(CLI::PositiveNumber);
    lab->add_flag("--list", wanted->list, "list the scenarios");
    lab->footer("--device NAME runs it on that device and says where it differs from the model.");
    return [wanted](const Options& options) { return run_lab(*wanted, options); };
}

} // namespace verbena::tools
