/// @file
/// Every setting of the library: one table, each with a unit, a value and where the value came from.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <verbena/export.hpp>

namespace verbena {

/// Where a setting's value came from; a later one wins.
enum class Source : std::uint8_t { built_in, launcher, environment, option };
[[nodiscard]] VERBENA_API std::string_view name(Source source) noexcept;

struct Setting {
    std::string name;        ///< "receive-window": the option is --receive-window, the variable VERBENA_RECEIVE_WINDOW
    std::string value;       ///< as text; empty: chosen by rule
    std::string unit;        ///< "", "bytes", "messages", "duration", ...
    std::string description; ///< one line
    Source source = Source::built_in;
    std::string origin;  ///< the variable that gave it, e.g. "SLURM_PROCID"; empty for built-in values
    bool secret = false; ///< never printed
};

/// The settings of one Runtime. A value type. Text forms: sizes "64KiB", durations "10s", "500ms".
class VERBENA_API Settings {
  public:
    /// Built-in values.
    Settings();
    /// Built-in values, then what a launcher says (torchrun, Slurm, Open MPI), then VERBENA_* variables.
    /// @throws Error (invalid_argument) naming variable, value and what is accepted.
    static Settings from_environment();

    /// Sets one by name. @throws Error (invalid_argument): unknown name (with the nearest known one) or bad value.
    void set(std::string_view name, std::string_view value, Source source = Source::option,
             std::string_view origin = {});

    [[nodiscard]] const std::vector<Setting>& all() const noexcept { return settings_; }
    [[nodiscard]] const std::string& text(std::string_view name) const;
    [[nodiscard]] bool is_set(std::string_view name) const { return !text(name).empty(); }
    [[nodiscard]] std::int64_t number(std::string_view name) const;
    [[nodiscard]] std::uint64_t bytes(std::string_view name) const;
    [[nodiscard]] std::chrono::nanoseconds duration(std::string_view name) const;

  private:
    std::vector<Setting> settings_;
};

/// "64KiB", "4k", "1048576" -> bytes; powers of 1024 in every spelling. @throws Error (invalid_argument)
[[nodiscard]] VERBENA_API std::uint64_t parse_bytes(std::string_view text);
/// "10s", "500ms", "20us" -> duration. @throws Error (invalid_argument)
[[nodiscard]] VERBENA_API std::chrono::nanoseconds parse_duration(std::string_view text);

} // namespace verbena
