/// @file
/// What two ends must agree on before they measure, and the list of where they do not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace verbena::tools {

/// Names and values in order. Names must not contain '='; neither may hold a newline.
class Parameters {
  public:
    void set(std::string name, std::string value) { entries_.emplace_back(std::move(name), std::move(value)); }
    /// Empty where it is not given.
    [[nodiscard]] std::string_view text(std::string_view name) const;
    [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& entries() const { return entries_; }

    /// The form that travels: a line "name=value" each.
    [[nodiscard]] std::string encode() const;
    /// Anything at all is read: what the other end of another version sends must end in a message, not in a failure.
    [[nodiscard]] static Parameters decode(std::string_view text);

  private:
    std::vector<std::pair<std::string, std::string>> entries_;
};

/// One sentence for each entry that differs or that one end lacks: "sizes: 8:1MiB here, 8:2MiB at the other end".
/// @param where of the other, e.g. "at the other end", "on rank 3"
[[nodiscard]] std::vector<std::string> differences(const Parameters& here, const Parameters& other,
                                                   std::string_view where);

} // namespace verbena::tools
