#include "notice.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace verbena::tools {
namespace {

std::string prefix_in_use = "verbena";
bool has_color = false;
bool has_progress_line = false;

/// A native code that the sentence does not already spell.
std::string cause_text(const Error& error) {
    const std::string cause = describe(error.cause());
    const std::string_view name = std::string_view(cause).substr(0, cause.find(' '));
    return cause.empty() || std::string_view(error.what()).find(name) != std::string_view::npos ? "" : ": " + cause;
}

/// One line, whatever the library or a peer put into it.
std::string on_one_line(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    return text;
}

} // namespace

int exit_status_of(ErrorCode code) noexcept {
    switch (code) {
    case ErrorCode::ok:
        return done;
    case ErrorCode::invalid_argument:
        return wrong_usage;
    case ErrorCode::unavailable:
    case ErrorCode::exhausted:
        return environment_lacks;
    default:
        return found_failure;
    }
}

void name_notices(std::string prefix, Color color) {
    prefix_in_use = std::move(prefix);
    has_color = is_colored(color, stderr);
}

void notice(std::string_view sentence) {
    progress("");
    fmt::print(stderr, "{}: {}\n", prefix_in_use, on_one_line(std::string(sentence)));
}

void report(const Error& error) {
    progress("");
    const char* begin = has_color ? "\033[1;31m" : "";
    const char* end = has_color ? "\033[0m" : "";
    fmt::print(stderr, "{}{}:{} {}\n", begin, prefix_in_use, end, on_one_line(error.what() + cause_text(error)));
    if (!error.advice().empty()) fmt::print(stderr, "  advice: {}\n", on_one_line(error.advice()));
}

void progress(std::string_view state) {
    static const bool shown = is_terminal(stderr);
    if (!shown || (state.empty() && !has_progress_line)) return;
    fmt::print(stderr, "\r\033[K{}", state);
    std::fflush(stderr);
    has_progress_line = !state.empty();
}

} // namespace verbena::tools
