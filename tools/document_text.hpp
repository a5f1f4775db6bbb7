/// @file
/// A nested JSON document as indented text: whatever the document holds is shown, so that the two forms cannot drift.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace verbena::tools {

/// Objects become "key: value" lines, arrays of flat objects become tables, arrays of nested objects a block each.
/// Empty strings and empty lists are left out.
[[nodiscard]] std::string document_text(const nlohmann::ordered_json& document);

} // namespace verbena::tools
