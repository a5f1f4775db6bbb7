/// @file
/// Where the job's secret comes from.
#pragma once

#include <cstdint>
#include <string>

#include <verbena/settings.hpp>

namespace verbena::boot {

/// The setting secret, or what is in secret-file without the line ends behind it.
/// @throws Error when there is none, when both are set, or when others can read the file.
[[nodiscard]] std::string secret_from(const Settings& settings, std::uint32_t size);

} // namespace verbena::boot
