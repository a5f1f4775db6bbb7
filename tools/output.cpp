#include "output.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <verbena/error.hpp>

#include "document_text.hpp"

namespace verbena::tools {
namespace {

std::size_t width_of(const Field& field) {
    constexpr std::size_t least = 8;
    return std::max({field.heading.size(), field.width, least});
}

std::string headings(const Record& record) {
    std::string line;
    for (const Field& field : record.fields) {
        line += fmt::format("{:>{}}  ", field.heading, width_of(field));
    }
    return line;
}

} // namespace

Field whole(std::string key, std::string heading, std::uint64_t value) {
    return {std::move(key), std::move(heading), value, fmt::format("{}", value)};
}

Field real(std::string key, std::string heading, double value, int digits) {
    return {std::move(key), std::move(heading), value,
            value < 1 ? fmt::format("{:.{}g}", value, digits) : fmt::format("{:.{}f}", value, digits)};
}

Field word(std::string key, std::string heading, std::string value, std::size_t width) {
    return {std::move(key), std::move(heading), value, value, width};
}

std::string sentence(std::string_view text_template, const Record& record) {
    std::string text(text_template);
    for (const Field& field : record.fields) {
        const std::string mark = "{" + field.key + "}";
        for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + field.text.size())) {
            text.replace(at, mark.size(), field.text);
        }
    }
    return text;
}

bool is_terminal(std::FILE* file) {
    const char* kind = std::getenv("TERM");
    return isatty(fileno(file)) != 0 && (kind == nullptr || std::string_view(kind) != "dumb");
}

bool is_colored(Color color, std::FILE* file) {
    if (color != Color::automatic) return color == Color::always;
    return is_terminal(file) && std::getenv("NO_COLOR") == nullptr;
}

Output::Output(std::string command, bool json, Color color, std::FILE* out)
    : schema_("verbena." + std::move(command) + ".1"), json_(json), color_(is_colored(color, out)), out_(out) {}

void Output::block(const Record& record) {
    if (json_) return object(record);
    for (const Field& field : record.fields) write(fmt::format("# {}: {}", field.heading, field.text));
}

void Output::row(const Record& record) {
    if (json_) return object(record);
    std::vector<std::string> columns;
    for (const Field& field : record.fields) columns.push_back(field.key);
    if (columns != columns_) {
        if (!columns_.empty()) write("");
        const std::string line = headings(record);
        write(color_ ? fmt::format("\033[1m{}\033[0m", line) : line);
        columns_ = std::move(columns);
    }
    std::string line;
    for (const Field& field : record.fields) {
        line += fmt::format("{:>{}}  ", field.text, width_of(field));
    }
    write(line);
}

void Output::line(const Record& record, std::string_view text_template) {
    if (json_) return object(record);
    write(sentence(text_template, record));
}

void Output::document(const Json& document) {
    if (!json_) return write(document_text(document));
    Json complete = {{"schema", schema_}};
    complete.update(document);
    write(complete.dump(2));
}

void Output::object(const Record& record) {
    Json object = {{"schema", schema_}, {"record", record.type}};
    for (const Field& field : record.fields)
        std::visit([&](const auto& value) { object[field.key] = value; }, field.value);
    write(object.dump());
}

void Output::write(std::string_view line) {
    const std::size_t length = line.find_last_not_of(' ') + 1; // the last column's padding
    fmt::print(out_, "{}\n", line.substr(0, length));
    if (std::fflush(out_) != 0) {
        throw Error(ErrorCode::exhausted, "stdout cannot be written: what was measured is lost",
                    "look at the file system or the pipe behind it", Cause{Origin::system_errno, errno, 0});
    }
}

} // namespace verbena::tools
