/// @file
/// What a command says on stdout: records of named values, written as text or as JSON from the same description.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace verbena::tools {

/// A nested document; keys keep the order in which they were added.
using Json = nlohmann::ordered_json;

enum class Color : std::uint8_t { automatic, always, never };

/// One value: its JSON key (with the unit in the name), its heading in a text table, and itself in both forms.
struct Field {
    std::string key;
    std::string heading;
    std::variant<std::uint64_t, double, std::string> value;
    std::string text;
    std::size_t width = 0; ///< least width of its column in a table; that of the heading at least
};

/// Fields of the common kinds. `digits` are decimals in the text, of values below 1 the digits that mean something:
/// what was measured never reads as 0.00. JSON keeps the value as it is.
[[nodiscard]] Field whole(std::string key, std::string heading, std::uint64_t value);
[[nodiscard]] Field real(std::string key, std::string heading, double value, int digits);
[[nodiscard]] Field word(std::string key, std::string heading, std::string value, std::size_t width = 0);

struct Record {
    std::string type; ///< "parameters", "result", "summary", ...: key "record" in JSON
    std::vector<Field> fields;
};

/// `{key}` in the template stands for the text of that field.
[[nodiscard]] std::string sentence(std::string_view text_template, const Record& record);

/// Writes records. One caller at a time.
class Output {
  public:
    Output(std::string command, bool json, Color color, std::FILE* out = stdout);

    [[nodiscard]] bool is_json() const { return json_; }

    /// Lines "# key: value" in text.
    void block(const Record& record);
    /// A row of a table in text; headings come before the first row and whenever the columns change.
    void row(const Record& record);
    /// A line in text, made from the template.
    void line(const Record& record, std::string_view text_template);
    /// Text that is none of these; JSON has a document of its own then.
    void text(std::string_view lines) { write(lines); }
    /// A whole nested document, e.g. of `info`; ends the output.
    void document(const Json& document);

  private:
    void object(const Record& record);
    void write(std::string_view line);

    std::string schema_;
    bool json_;
    bool color_;
    std::FILE* out_;
    std::vector<std::string> columns_;
};

/// A terminal that can take a line back and change colour.
[[nodiscard]] bool is_terminal(std::FILE* file);
/// Whether to colour what goes to `file`: a terminal, and NO_COLOR not set, unless told.
[[nodiscard]] bool is_colored(Color color, std::FILE* file);

} // namespace verbena::tools
