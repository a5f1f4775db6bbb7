#include "lab_text.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace verbena::tools {
namespace {

constexpr std::size_t text_columns = 96;

std::string painted(std::string_view text, const char* code, bool color) {
    return color ? fmt::format("\033[{}m{}\033[0m", code, text) : std::string(text);
}

std::string wrapped(std::string_view heading, std::string_view text) {
    std::string lines;
    std::string line(heading);
    const std::string indent(heading.size(), ' ');
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        if (line.size() + end > text_columns && line != indent && line != heading) {
            lines += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
            line = indent;
        }
        line += text.substr(0, end);
        line += ' ';
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines + line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
}

std::string act_text(const lab::Act& act, bool color) {
    std::size_t action_width = 0;
    std::size_t ledger_width = 0;
    for (const lab::Step& step : act.steps) {
        action_width = std::max(action_width, step.action.size());
        ledger_width = std::max(ledger_width, step.ledger.size());
    }
    std::string text = fmt::format("\n{}: {}\n", painted(act.program, "1", color), act.title);
    int number = 0;
    for (const lab::Step& step : act.steps) {
        const std::string seen = step.is_failure ? painted(step.seen, "31", color) : step.seen;
        const std::string drawn = step.ledger.empty() ? "" : fmt::format("[{}]", step.ledger);
        std::string line = fmt::format("{:>3}  {:<{}}  {:<{}}  {}", ++number, step.action, action_width, drawn,
                                       ledger_width + 2, seen);
        text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
    }
    text += fmt::format("     {}\n", act.legend);
    text +=
        fmt::format("  {} {}\n", act.succeeded ? painted("->", "32", color) : painted("=>", "31", color), act.outcome);
    return text;
}

} // namespace

std::string lab_text(const lab::Report& report, bool color) {
    std::string text = fmt::format("{}: {}\n{}, depth {}", painted(report.scenario, "1", color), report.title,
                                   report.device, report.depth);
    if (report.seed != 0) text += fmt::format(", seed {}", report.seed);
    text += '\n';
    for (const lab::Act& act : report.acts) text += act_text(act, color);
    text += '\n' + wrapped("why: ", report.rule);
    for (const std::string& difference : report.differences) text += wrapped("this device: ", difference);
    text.pop_back();
    return text;
}

} // namespace verbena::tools
