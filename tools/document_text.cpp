#include "document_text.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace verbena::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr int step = 2; // columns of one level

bool is_flat(const Json& value) {
    return std::none_of(value.begin(), value.end(), [](const Json& inner) { return inner.is_structured(); });
}

std::string scalar_text(const Json& value) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
    return value.is_null() ? "" : value.dump();
}

std::string label(std::string key) {
    std::replace(key.begin(), key.end(), '_', ' ');
    return key;
}

std::string indentation(int depth) { return std::string(static_cast<std::size_t>(depth), ' '); }

std::string without_trailing_blanks(const std::string& line) { return line.substr(0, line.find_last_not_of(' ') + 1); }

/// A table without the columns that are empty in every row. The last column may be of any length.
std::string table_text(const Json& rows, int depth) {
    std::vector<std::string> keys;
    std::vector<std::size_t> widths;
    for (const auto& [key, unused] : rows.front().items()) {
        std::size_t width = 0;
        for (const Json& row : rows) width = std::max(width, scalar_text(row.value(key, Json())).size());
        if (width == 0) continue;
        keys.push_back(key);
        widths.push_back(std::max(width, key.size()));
    }
    const auto line = [&](const auto& text_of) {
        std::string text = indentation(depth);
        for (std::size_t i = 0; i < keys.size(); ++i) text += fmt::format("{:<{}}  ", text_of(keys[i]), widths[i]);
        return without_trailing_blanks(text) + '\n';
    };
    std::string text = line([](const std::string& key) { return label(key); });
    for (const Json& row : rows) {
        text += line([&](const std::string& key) { return scalar_text(row.value(key, Json())); });
    }
    return text;
}

std::string object_text(const Json& object, int depth);

std::string array_text(const Json& array, int depth) {
    if (std::all_of(array.begin(), array.end(), [](const Json& item) { return item.is_object() && is_flat(item); })) {
        return table_text(array, depth);
    }
    std::string text;
    for (const Json& item : array) {
        if (item.is_structured()) {
            std::string block = object_text(item, depth + step);
            block[static_cast<std::size_t>(depth)] = '-';
            text += block;
        } else {
            text += indentation(depth) + scalar_text(item) + '\n';
        }
    }
    return text;
}

std::string object_text(const Json& object, int depth) {
    std::string text;
    for (const auto& [key, value] : object.items()) {
        if (value.is_structured()) {
            if (value.empty()) continue;
            text += fmt::format("{}{}:\n", indentation(depth), label(key));
            text += value.is_array() ? array_text(value, depth + step) : object_text(value, depth + step);
        } else if (const std::string shown = scalar_text(value); !shown.empty()) {
            text += fmt::format("{}{}: {}\n", indentation(depth), label(key), shown);
        }
    }
    return text;
}

} // namespace

std::string document_text(const Json& document) {
    std::string text = object_text(document, 0);
    if (!text.empty()) text.pop_back(); // the writer ends the last line
    return text;
}

} // namespace verbena::tools
